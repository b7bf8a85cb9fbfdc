import type { ExecEffect } from "../effect.ts";
import { type TextTest, textTest } from "./pattern.ts";

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
