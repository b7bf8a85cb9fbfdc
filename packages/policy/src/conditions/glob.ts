/**
 * Globs that people write, matched in bounded time: at most the length of the glob times that of the path, whatever
 * either holds. A regular expression would try every way to divide a path among the stars.
 *
 * `*` and `?` stay within a segment, `**` as a whole segment stands for any number of them, `[a-z]` for one character,
 * `{a,b}` and `@(a|b)` for one of several, `\` before a character for itself, and `!` in front for everything else.
 */
export interface Glob {
  /** The ways to read it once its alternatives are written out, each as segments. */
  readonly options: readonly (readonly Segment[])[];
  readonly isNegated: boolean;
}

/** Any number of segments, or a test of one. */
type Segment = "any" | ((text: string) => boolean);

/** More alternatives than anybody writes by hand. */
const OPTION_LIMIT = 256;
const LENGTH_LIMIT = 2_000;

/** Why a glob cannot be used; `undefined` when it can. */
export function globFault(glob: string): string | undefined {
  if (glob.length > LENGTH_LIMIT) return `a glob has at most ${LENGTH_LIMIT} characters`;
  if (/(?:^|[^\\])[!+*?]\(/.test(glob)) return "of extended globs only @(a|b) can be used; write {a,b}";
  return expand(body(glob).text) ? undefined : `a glob stands for at most ${OPTION_LIMIT} others`;
}

/** Compiles a glob. One that cannot be used matches nothing. */
export function compileGlob(glob: string): Glob {
  const { text, isNegated } = body(glob);
  const options = globFault(glob) === undefined ? (expand(text) ?? []) : [];
  return { options: options.map((option) => segmentsOf(option)), isNegated };
}

/** Whether a glob matches a path; the empty path is matched by none. */
export function matchesGlob({ options, isNegated }: Glob, path: string): boolean {
  if (path === "") return false;
  const names = path === "/" ? [""] : path.split("/");
  return options.some((segments) => matchesSegments(segments, names)) !== isNegated;
}

/** The root of the file system is a path of one empty name. */
function segmentsOf(option: string): readonly Segment[] {
  return (option === "/" ? "" : option).split("/").map(segmentOf);
}

function body(glob: string): { readonly text: string; readonly isNegated: boolean } {
  const signs = /^!*/.exec(glob)?.[0].length ?? 0;
  return { text: glob.slice(signs).replace(/^(?:\.\/)+/, ""), isNegated: signs % 2 === 1 };
}

/** Each `**` takes as few segments as it can; when what follows fails, the last one takes one more. */
function matchesSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  let [at, name] = [0, 0];
  let [retry, taken] = [-1, 0];
  while (name < names.length) {
    const segment = segments[at];
    if (segment === "any") {
      [retry, taken] = [at, name];
      at += 1;
    } else if (segment?.(names[name] ?? "")) {
      at += 1;
      name += 1;
    } else if (retry >= 0) {
      taken += 1;
      [at, name] = [retry + 1, taken];
    } else return false;
  }
  return segments.slice(at).every((segment) => segment === "any");
}

type Token = "star" | ((character: string) => boolean);

function segmentOf(text: string): Segment {
  if (text === "**") return "any";
  if (!/[*?[\\]/.test(text)) return (name) => name === text;
  const tokens = tokensOf(text);
  // A star that stands alone is a name, and names are not empty.
  const least = tokens.every((token) => token === "star") ? 1 : 0;
  return (name) => name.length >= least && matchesTokens(tokens, [...name]);
}

function matchesTokens(tokens: readonly Token[], characters: readonly string[]): boolean {
  let [at, next] = [0, 0];
  let [retry, taken] = [-1, 0];
  while (next < characters.length) {
    const token = tokens[at];
    if (token === "star") {
      [retry, taken] = [at, next];
      at += 1;
    } else if (token?.(characters[next] ?? "")) {
      at += 1;
      next += 1;
    } else if (retry >= 0) {
      taken += 1;
      [at, next] = [retry + 1, taken];
    } else return false;
  }
  return tokens.slice(at).every((token) => token === "star");
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const characters = [...text];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (tokens.at(-1) !== "star") tokens.push("star");
    } else if (character === "?") tokens.push(() => true);
    else if (character === "[") {
      const set = setAt(characters, at);
      tokens.push(set ? set.test : (other) => other === "[");
      at = set ? set.end : at;
    } else {
      const plain = character === "\\" && at + 1 < characters.length ? (characters[++at] ?? "") : character;
      tokens.push((other) => other === plain);
    }
  }
  return tokens;
}

/** `[abc]`, `[a-z]`, `[!a]`; `undefined` where a bracket is only a bracket. */
function setAt(characters: readonly string[], from: number) {
  const isInverse = characters[from + 1] === "!" || characters[from + 1] === "^";
  const start = from + (isInverse ? 2 : 1);
  const end = characters.indexOf("]", start + 1);
  if (end < 0) return undefined;
  const ranges: (readonly [string, string])[] = [];
  for (let at = start; at < end; at += 1) {
    const first = characters[at] ?? "";
    const isRange = characters[at + 1] === "-" && at + 2 < end;
    ranges.push([first, isRange ? (characters[at + 2] ?? "") : first]);
    if (isRange) at += 2;
  }
  const isIn = (one: string) => ranges.some(([first, last]) => first <= one && one <= last);
  return { end, test: (one: string) => isIn(one) !== isInverse };
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

/** The first innermost group of a glob, and what stands around it. */
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

function reachOf(option: readonly Segment[], path: string): GlobReach {
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
