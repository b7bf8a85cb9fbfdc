import type { ExecEffect } from "../action.ts";

/** Whether a text is one of several names; in a name `*` stands for any text and `?` for any character. */
export type TextTest = (text: string) => boolean;

/** Compiles names and patterns. Plain names cost one look-up however many there are. */
export function textTest(patterns: string | readonly string[]): TextTest {
  const list = typeof patterns === "string" ? [patterns] : patterns;
  if (list.includes("*")) return () => true;
  const names = new Set(list.filter(isName));
  const globs = list.filter((pattern) => !isName(pattern)).map(globTest);
  if (globs.length === 0) return (text) => names.has(text);
  return (text) => names.has(text) || globs.some((glob) => glob(text));
}

/** The plain names among patterns, if they are all plain. */
export function plainNames(patterns: string | readonly string[]): readonly string[] | undefined {
  const list = typeof patterns === "string" ? [patterns] : patterns;
  return list.every(isName) ? list : undefined;
}

function isName(pattern: string): boolean {
  return !/[*?]/.test(pattern);
}

/**
 * A pattern as pieces between stars, each found as early as it can be. One regular expression for all of it would try
 * every way to divide a text among the stars, and the texts are as long as an agent likes.
 */
function globTest(pattern: string): TextTest {
  const [first = "", ...others] = pattern.split("*").map(pieceSource);
  const last = others.pop();
  const begin = new RegExp(`^${first}${last === undefined ? "$" : ""}`, "su");
  if (last === undefined) return (text) => begin.test(text);
  const end = new RegExp(`${last}$`, "su");
  const middle = others.filter((piece) => piece !== "").map((piece) => new RegExp(piece, "gsu"));
  return (text) => {
    let from = begin.exec(text)?.[0].length;
    if (from === undefined) return false;
    for (const piece of middle) {
      piece.lastIndex = from;
      if (!piece.test(text)) return false;
      from = piece.lastIndex;
    }
    return end.test(text.slice(from));
  };
}

/** A piece as the source of a regular expression that matches texts of one length only. */
function pieceSource(piece: string): string {
  return piece.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("?", ".");
}

/** A pattern of words such as `git push`, asked in the two ways in which rules need it. */
export interface CommandPattern {
  /** Whether the command certainly begins with these words. Unknown words fit nothing. */
  surely(effect: ExecEffect): boolean;
  /** Whether these words may stand in the command in this order, options between them or not. Unknown words fit all. */
  possibly(effect: ExecEffect): boolean;
}

/** Compiles a pattern of words; each is a name or pattern, and further words may always follow. */
export function commandPattern(pattern: string): CommandPattern {
  const [name = "", ...rest] = pattern.trim().split(/\s+/);
  const nameTest = textTest(name);
  const wordTests = rest
    .filter((word, index) => word !== "*" || index < rest.length - 1)
    .map((word) => textTest(word));
  return {
    surely: ({ command, arguments: words }) =>
      nameTest(command) && wordTests.every((test, index) => fits(test, words[index])),
    possibly: ({ command, arguments: words }) => nameTest(command) && standsIn(wordTests, words),
  };
}

function fits(test: TextTest, word: string | null | undefined): boolean {
  return typeof word === "string" && test(word);
}

function standsIn(tests: readonly TextTest[], words: readonly (string | null)[]): boolean {
  let next = 0;
  for (const word of words) {
    const test = tests[next];
    if (!test) return true;
    if (word === null) return true;
    if (test(word)) next += 1;
  }
  return next >= tests.length;
}
