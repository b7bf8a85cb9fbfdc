import type { ExecEffect, ReadEffect, WriteEffect } from "../action.ts";
import type { PathTest, PlainCondition } from "../constitution/condition.ts";
import { type GlobReach, type PathGlob, pathGlob } from "../glob.ts";
import type { Clause } from "./conditions.ts";

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
  /** Whether the command begins with these words. */
  begins(effect: ExecEffect, unknownFits: boolean): boolean;
  /** Whether these words stand in the command in this order, options between them or not. */
  holds(effect: ExecEffect, unknownFits: boolean): boolean;
}

/** Compiles a pattern of words; each is a name or pattern, and further words may always follow. */
export function commandPattern(pattern: string): CommandPattern {
  const [name = "", ...rest] = pattern.trim().split(/\s+/);
  const nameTest = textTest(name);
  const wordTests = rest
    .filter((word, index) => word !== "*" || index < rest.length - 1)
    .map((word) => textTest(word));
  const isPlain = wordTests.length === 0 && name === "*";
  return {
    begins({ command, arguments: words }, unknownFits) {
      // A program that is only known at run time may bring words of its own.
      if (command === UNKNOWN) return unknownFits || isPlain;
      const fits = (test: TextTest, word: string | null | undefined): boolean =>
        word === null ? unknownFits : word !== undefined && test(word);
      return nameTest(command) && wordTests.every((test, index) => fits(test, words[index]));
    },
    holds({ command, arguments: words }, unknownFits) {
      if (command === UNKNOWN) return unknownFits || isPlain;
      return nameTest(command) && standIn(wordTests, words, unknownFits);
    },
  };
}

/** The name of a program, or of a host, that is only known at run time. */
export const UNKNOWN = "*";

function standIn(
  tests: readonly TextTest[],
  words: readonly (string | null)[],
  unknownFits: boolean,
): boolean {
  let next = 0;
  for (const word of words) {
    const test = tests[next];
    if (!test) return true;
    if (word === null && unknownFits) return true;
    if (word !== null && test(word)) next += 1;
  }
  return next >= tests.length;
}

/** An effect on a path. */
export type PathEffect = ReadEffect | WriteEffect;

/** Whether an effect on a path is of a kind. */
export type PathEffectTest = (effect: PathEffect) => boolean;

/**
 * Compiles what all paths must be. What lies below a deep one must be so, too, as far as globs say.
 *
 * @param unknownFits whether a path counts that is only known at run time; where not, only if `place` names such paths
 */
export function everyPathTest(test: PathTest, unknownFits: boolean): PathEffectTest {
  const { isThere, globs, except } = compiled(test);
  return (effect) => {
    if (effect.place === "unknown") return isUnknownSuch(effect, test, unknownFits);
    if (!isThere(effect) || !isSuch(effect, test)) return false;
    if (globs && !(effect.deep ? globs.cover(effect) : globs.match(effect))) return false;
    const excepted = except?.match(effect) || (effect.deep && except?.reach(effect, "here"));
    return excepted !== true;
  };
}

/**
 * Compiles what one path must be. A deep one is anything that could lie below it: a glob need only be able to match
 * there, and where that is only further down, its place is unknown.
 *
 * @param unknownFits as for `everyPathTest`
 */
export function anyPathTest(test: PathTest, unknownFits: boolean): PathEffectTest {
  const { isThere, globs, except } = compiled(test);
  return (effect) => {
    if (effect.place === "unknown") return isUnknownSuch(effect, test, unknownFits);
    if (!isSuch(effect, test)) return false;
    if (except && (effect.deep ? except.cover(effect) : except.match(effect))) return false;
    if (globs === undefined) return isThere(effect);
    if (!effect.deep) return isThere(effect) && globs.match(effect);
    return globs.reach(effect, isThere(effect) ? "here" : "below");
  };
}

function compiled({ place, match, except }: PathTest) {
  const places = place && new Set<string>(typeof place === "string" ? [place] : place);
  return {
    isThere: (effect: PathEffect) => places?.has(effect.place) ?? true,
    globs: match === undefined ? undefined : new Globs(match),
    except: except === undefined ? undefined : new Globs(except),
  };
}

/** Of a path that is only known at run time, what can be said of it, and whether the rest counts. */
function isUnknownSuch(effect: PathEffect, test: PathTest, unknownFits: boolean): boolean {
  const { place, match, except, inside, ...known } = test;
  const isNamed = typeof place === "string" ? place === "unknown" : place?.includes("unknown");
  const asksForMore = match !== undefined || except !== undefined || inside !== undefined;
  return isSuch(effect, known) && isNamed !== false && (unknownFits || (isNamed === true && !asksForMore));
}

/** Whether an effect is as its yes and no questions ask. */
function isSuch(effect: PathEffect, { inside, destroys, recoverable, passing }: PathTest): boolean {
  const writes = effect.kind === "write" ? effect : undefined;
  const isLost = writes?.destroys === true && writes.recoverable === false;
  return (
    isAs(effect.inside !== undefined, inside) &&
    isAs(writes?.destroys === true, destroys) &&
    isAs(!isLost, recoverable) &&
    isAs(effect.kind === "read" && effect.passing === true, passing)
  );
}

function isAs(is: boolean, asked: boolean | undefined): boolean {
  return asked === undefined || is === asked;
}

/** Absolute globs are held against the path, others against its part inside the session's root. */
class Globs {
  readonly #absolute: readonly PathGlob[];
  readonly #relative: readonly PathGlob[];

  constructor(match: string | readonly string[]) {
    const globs = typeof match === "string" ? [match] : match;
    this.#absolute = globs.filter((glob) => glob.startsWith("/")).map(pathGlob);
    this.#relative = globs.filter((glob) => !glob.startsWith("/")).map(pathGlob);
  }

  match(effect: PathEffect): boolean {
    return this.#some(effect, (glob, path) => glob.matches(path));
  }

  cover(effect: PathEffect): boolean {
    return this.#some(effect, (glob, path) => glob.covers(path));
  }

  /** @param from how near a glob has to reach, at most */
  reach(effect: PathEffect, from: Exclude<GlobReach, "nowhere">): boolean {
    return this.#some(effect, (glob, path) => {
      const reach = glob.reaches(path);
      return reach === "below" || reach === from;
    });
  }

  #some({ path, inside }: PathEffect, test: (glob: PathGlob, path: string) => boolean): boolean {
    for (const glob of this.#absolute) if (test(glob, path)) return true;
    if (inside !== undefined) for (const glob of this.#relative) if (test(glob, inside)) return true;
    return false;
  }
}

/**
 * The clauses about the graph that an action belongs to. Its name and its operation are the model's words: they count where
 * a match makes the verdict stricter, and otherwise as what is not known.
 */
export function graphClauses(
  asked: PlainCondition["graph"],
  { isRulePermitting, unknownFits }: { readonly isRulePermitting: boolean; readonly unknownFits: boolean },
): Clause[] {
  if (asked === undefined) return [];
  if (typeof asked === "boolean")
    return [{ name: "graph", holds: ({ subject }) => (subject.graph !== undefined) === asked }];
  const { executor, action, operation } = asked;
  const clauses: Clause[] = [{ name: "graph", holds: ({ subject }) => subject.graph !== undefined }];
  if (executor !== undefined) {
    const test = textTest(executor);
    clauses.push({ name: "graph.executor", holds: ({ subject }) => test(subject.graph?.executor ?? "") });
  }
  for (const [name, patterns] of [
    ["action", action],
    ["operation", operation],
  ] as const) {
    if (patterns === undefined) continue;
    const test = textTest(patterns);
    const isHeard = !isRulePermitting && unknownFits;
    clauses.push({
      name: `graph.${name}`,
      holds: ({ subject }) => (isHeard ? test(subject.graph?.[name] ?? "") : unknownFits),
    });
  }
  return clauses;
}
