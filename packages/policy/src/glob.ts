/** Any number of items, or a test of one. */
type Step<Item> = "any" | ((item: Item) => boolean);

/**
 * The one loop that matches globs, over the segments of a path as over the characters of a name: each `any` takes as few
 * items as it can; when what follows fails, the last one takes one more. It takes at most the number of steps times that
 * of items, whatever either holds; a regular expression would try every way to divide the items among the stars.
 */
function fits<Item>(steps: readonly Step<Item>[], items: readonly Item[]): boolean {
  let [at, next] = [0, 0];
  let [retry, taken] = [-1, 0];
  while (next < items.length) {
    const step = steps[at];
    const item = items[next];
    if (step === "any") {
      [retry, taken] = [at, next];
      at += 1;
    } else if (item !== undefined && step?.(item)) {
      at += 1;
      next += 1;
    } else if (retry >= 0) {
      taken += 1;
      [at, next] = [retry + 1, taken];
    } else return false;
  }
  return steps.slice(at).every((step) => step === "any");
}

/** More brackets that are never closed than anybody writes; each is looked for up to the end. */
const OPEN_LIMIT = 16;

/**
 * A test for one part of a path, as shells match it: `*`, `?` and `[a-z]`, with backslashes before characters that mean
 * themselves. `undefined` for a pattern with classes that depend on the machine's language.
 *
 * @param options `ofAnyShell`: whether it matches all that some shell matches. To dash, the `^` of `[^a]` is in the set.
 */
export function nameGlob(
  pattern: string,
  { matchesDots = false, ofAnyShell = false } = {},
): ((name: string) => boolean) | undefined {
  const steps = stepsOf([...pattern], ofAnyShell);
  if (!steps) return undefined;
  const matchesDot = matchesDots || pattern.startsWith(".") || pattern.startsWith("\\.");
  return (name) => (matchesDot || !name.startsWith(".")) && fits(steps, [...name]);
}

function stepsOf(characters: readonly string[], ofAnyShell: boolean): readonly Step<string>[] | undefined {
  const steps: Step<string>[] = [];
  const lastClose = characters.lastIndexOf("]");
  let open = 0;
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (steps.at(-1) !== "any") steps.push("any");
    } else if (character === "?") steps.push(() => true);
    else if (character === "[") {
      const set = at < lastClose ? setAt(characters, at) : undefined;
      if (set === undefined) open += 1;
      if (set === "unknown" || open > OPEN_LIMIT) return undefined;
      const isEither = ofAnyShell && characters[at + 1] === "^";
      steps.push(set && isEither ? () => true : (set?.test ?? ((other) => other === "[")));
      at = set?.end ?? at;
    } else {
      const own = character === "\\" ? (characters[at + 1] ?? "\\") : character;
      if (character === "\\") at += 1;
      steps.push((other) => other === own);
    }
  }
  return steps;
}

interface CharacterSet {
  readonly test: (character: string) => boolean;
  readonly end: number;
}

/** `[abc]`, `[a-z]`, `[!a]`; `undefined` when it is never closed, and the bracket means itself. */
function setAt(characters: readonly string[], start: number): CharacterSet | "unknown" | undefined {
  let at = start + 1;
  const isInverse = characters[at] === "!" || characters[at] === "^";
  if (isInverse) at += 1;
  const ranges: (readonly [string, string])[] = [];
  for (let isFirst = true; at < characters.length; isFirst = false) {
    if (characters[at] === "]" && !isFirst) {
      const isIn = (one: string) => ranges.some(([from, to]) => from <= one && one <= to);
      return { test: (one) => isIn(one) !== isInverse, end: at };
    }
    if (characters[at] === "[" && /[:.=]/.test(characters[at + 1] ?? "")) return "unknown";
    if (characters[at] === "\\") at += 1;
    const from = characters[at] ?? "";
    const isRange =
      characters[at + 1] === "-" && characters[at + 2] !== undefined && characters[at + 2] !== "]";
    ranges.push([from, isRange ? (characters[at + 2] ?? "") : from]);
    at += isRange ? 3 : 1;
  }
  return undefined;
}

/**
 * Globs that people write in a constitution. `*` and `?` stay within a segment, `**` as a whole segment stands for any
 * number of them, `[a-z]` for one character, `{a,b}` and `@(a|b)` for one of several, `\` before a character for itself,
 * and `!` in front for everything else.
 */
export interface Glob {
  /** The ways to read it once its alternatives are written out, each as segments. */
  readonly options: readonly (readonly Step<string>[])[];
  readonly isNegated: boolean;
}

/** More alternatives than anybody writes by hand. */
const OPTION_LIMIT = 256;
const LENGTH_LIMIT = 2_000;

/** Why a glob cannot be used; `undefined` when it can. */
export function globFault(glob: string): string | undefined {
  if (glob.length > LENGTH_LIMIT) return `a glob has at most ${LENGTH_LIMIT} characters`;
  if (/(?:^|[^\\])[!+*?]\(/.test(glob)) return "of extended globs only @(a|b) can be used; write {a,b}";
  const options = expand(body(glob).text);
  if (!options) return `a glob stands for at most ${OPTION_LIMIT} others`;
  return options.every((option) => option.split("/").every((segment) => nameGlob(segment)))
    ? undefined
    : "classes such as [:alpha:] depend on the machine's language; write [a-z]";
}

/** Compiles a glob. One that cannot be used matches nothing. */
export function compileGlob(glob: string): Glob {
  const { text, isNegated } = body(glob);
  const options = globFault(glob) === undefined ? (expand(text) ?? []) : [];
  return { options: options.map(segmentsOf), isNegated };
}

/** Whether a glob matches a path; the empty path is matched by none. */
export function matchesGlob({ options, isNegated }: Glob, path: string): boolean {
  if (path === "") return false;
  const names = path === "/" ? [""] : path.split("/");
  return options.some((segments) => fits(segments, names)) !== isNegated;
}

function body(glob: string): { readonly text: string; readonly isNegated: boolean } {
  const signs = /^!*/.exec(glob)?.[0].length ?? 0;
  return { text: glob.slice(signs).replace(/^(?:\.\/)+/, ""), isNegated: signs % 2 === 1 };
}

/** The root of the file system is a path of one empty name. */
function segmentsOf(option: string): readonly Step<string>[] {
  return (option === "/" ? "" : option).split("/").map((text): Step<string> => {
    if (text === "**") return "any";
    if (!/[*?[\\]/.test(text)) return (name) => name === text;
    const test = nameGlob(text, { matchesDots: true });
    // A star that stands alone is a name, and names are not empty.
    const least = /^\*+$/.test(text) ? 1 : 0;
    return (name) => name.length >= least && test?.(name) === true;
  });
}

/** A glob with its alternatives written out; `undefined` when they are too many. */
function expand(glob: string): readonly string[] | undefined {
  let [done, work]: [string[], string[]] = [[], [glob]];
  while (work.length > 0) {
    const next: string[] = [];
    for (const one of work) {
      const group = groupIn(one);
      if (group) for (const option of group.options) next.push(group.before + option + group.after);
      else done.push(one);
    }
    if (done.length + next.length > OPTION_LIMIT) return undefined;
    work = next;
  }
  return done;
}

/** The first innermost group of a glob, and what surrounds it. */
function groupIn(glob: string) {
  let open = -1;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at];
    if (character === "\\") at += 1;
    else if (character === "{" || (character === "@" && glob[at + 1] === "(")) open = at;
    else if (open >= 0 && character === (glob[open] === "{" ? "}" : ")")) {
      const isBrace = glob[open] === "{";
      const inner = glob.slice(open + (isBrace ? 1 : 2), at);
      const options = isBrace ? braceOptions(inner) : inner.split("|");
      if (options) return { before: glob.slice(0, open), options, after: glob.slice(at + 1) };
      open = -1;
    }
  }
  return undefined;
}

/** `a,b` or `1..3`; `undefined` for what is only a text in braces. */
function braceOptions(inner: string): readonly string[] | undefined {
  const [, first = "", last = ""] = /^(\w)\.\.(\w)$/.exec(inner) ?? [];
  if (first === "" || first > last) return inner.includes(",") ? inner.split(",") : undefined;
  const codes = Array.from({ length: last.charCodeAt(0) - first.charCodeAt(0) + 1 }, (_, index) => index);
  return codes.map((index) => String.fromCharCode(first.charCodeAt(0) + index));
}

/** Where a glob can match, seen from a folder: nowhere at or below it, there, or only further down. */
export type GlobReach = "nowhere" | "here" | "below";

/** A glob over paths, asked in the three ways in which rules need it. */
export interface PathGlob {
  /** Whether it matches the path. */
  matches(path: string): boolean;
  /** Whether it certainly matches everything below the path, and the path itself. */
  covers(path: string): boolean;
  /** Whether it could match the path or something below it. */
  reaches(path: string): GlobReach;
}

/** Compiles a glob. Paths are written as it is: absolute ones with a slash in front, others without. */
export function pathGlob(text: string): PathGlob {
  const glob = compileGlob(text);
  const matches = (path: string) => matchesGlob(glob, path);
  // What ends like this goes on for ever, unless it says what it does not match.
  const isEndless = /(?:^|\/)\*\*(?:\/\*)?$/.test(text) && !glob.isNegated;
  const reaches = (path: string): GlobReach => {
    if (glob.isNegated || matches(path)) return "here";
    const found = new Set(glob.options.map((segments) => reachOf(segments, path)));
    if (found.has("below")) return "below";
    return found.has("here") ? "here" : "nowhere";
  };
  return {
    matches,
    covers: (path) => isEndless && (path === "" ? /^\*\*(?:\/\*)?$/.test(text) : matches(path)),
    reaches,
  };
}

function reachOf(option: readonly Step<string>[], path: string): GlobReach {
  const names = path === "" || path === "/" ? [] : path.replace(/^\//, "").split("/");
  const segments = path.startsWith("/") ? option.slice(1) : option;
  for (const [index, name] of names.entries()) {
    const segment = segments[index];
    if (segment === undefined) return "nowhere";
    if (segment === "any") return "here";
    if (!segment(name)) return "nowhere";
  }
  const next = segments[names.length];
  return next === "any" || next === undefined ? "here" : "below";
}
