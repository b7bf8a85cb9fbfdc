import type { FilePort } from "../files.ts";

type Piece = { readonly kind: "star" } | { readonly kind: "one"; readonly fits: (letter: string) => boolean };

/**
 * A test for one part of a path, as shells match it: `*`, `?` and `[…]`, with backslashes before letters that mean
 * themselves. Patterns come from agents, so it is a matcher that no pattern can make slow. `undefined` for a pattern
 * with classes that depend on the machine's language.
 */
export function shellGlob(
  pattern: string,
  { matchesDots = false } = {},
): ((name: string) => boolean) | undefined {
  const pieces = piecesOf([...pattern]);
  if (!pieces) return undefined;
  const matchesDot = matchesDots || pattern.startsWith(".") || pattern.startsWith("\\.");
  return (name) => (matchesDot || !name.startsWith(".")) && fits(pieces, [...name]);
}

/** At a mismatch, the last star takes one letter more; stars before it need not be tried again. */
function fits(pieces: readonly Piece[], letters: readonly string[]): boolean {
  let at = 0;
  let letter = 0;
  let star = -1;
  let starLetter = 0;
  while (letter < letters.length) {
    const piece = pieces[at];
    if (piece?.kind === "star") {
      star = at;
      starLetter = letter;
      at += 1;
    } else if (piece?.fits(letters[letter] ?? "")) {
      at += 1;
      letter += 1;
    } else if (star !== -1) {
      starLetter += 1;
      letter = starLetter;
      at = star + 1;
    } else return false;
  }
  return pieces.slice(at).every((piece) => piece.kind === "star");
}

/** More brackets that are never closed than anybody writes; each is looked for up to the end. */
const OPEN_LIMIT = 16;

function piecesOf(letters: readonly string[]): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  const lastClose = letters.lastIndexOf("]");
  let open = 0;
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at] ?? "";
    if (letter === "*") pieces.push({ kind: "star" });
    else if (letter === "?") pieces.push({ kind: "one", fits: () => true });
    else if (letter === "[") {
      const set = at < lastClose ? bracket(letters, at) : undefined;
      if (set === undefined) open += 1;
      if (set === "unknown" || open > OPEN_LIMIT) return undefined;
      pieces.push({ kind: "one", fits: set?.fits ?? ((other) => other === "[") });
      at = set?.end ?? at;
    } else {
      const own = letter === "\\" ? (letters[at + 1] ?? "\\") : letter;
      if (letter === "\\") at += 1;
      pieces.push({ kind: "one", fits: (other) => other === own });
    }
  }
  return pieces;
}

interface Bracket {
  readonly fits: (letter: string) => boolean;
  readonly end: number;
}

/** `[abc]`, `[a-z]`, `[!a]`; `undefined` when it is never closed, and the bracket means itself. */
function bracket(letters: readonly string[], start: number): Bracket | "unknown" | undefined {
  let at = start + 1;
  const negated = letters[at] === "!" || letters[at] === "^";
  if (negated) at += 1;
  const ranges: (readonly [string, string])[] = [];
  for (let first = true; at < letters.length; first = false) {
    if (letters[at] === "]" && !first) {
      const within = (letter: string): boolean => ranges.some(([from, to]) => from <= letter && letter <= to);
      return { fits: (letter) => within(letter) !== negated, end: at };
    }
    if (letters[at] === "[" && /[:.=]/.test(letters[at + 1] ?? "")) return "unknown";
    if (letters[at] === "\\") at += 1;
    const from = letters[at] ?? "";
    const isRange = letters[at + 1] === "-" && letters[at + 2] !== undefined && letters[at + 2] !== "]";
    ranges.push([from, isRange ? (letters[at + 2] ?? "") : from]);
    at += isRange ? 3 : 1;
  }
  return undefined;
}

const NAME_LIMIT = 2_000;
const MATCH_LIMIT = 500;

/**
 * The paths that a shell's glob matches; `undefined` when there are too many to tell, or a folder cannot be read. Like
 * a shell, it does not match names that start with a dot unless the pattern says so.
 * @param pattern absolute, its literal characters escaped
 */
export async function expandGlob(files: FilePort, pattern: string): Promise<readonly string[] | undefined> {
  let found: readonly string[] | undefined = ["/"];
  for (const part of pattern.split("/").filter((one) => one !== "" && one !== ".")) {
    if (found === undefined || found.length > MATCH_LIMIT) return undefined;
    if (part === "**") found = await foldersBelow(files, found);
    else if (/[*?[]/.test(part.replace(/\\./g, ""))) found = await matchesIn(files, found, part);
    else found = found.map((folder) => joined(folder, part.replace(/\\(.)/g, "$1")));
  }
  return found;
}

async function matchesIn(
  files: FilePort,
  folders: readonly string[],
  part: string,
): Promise<readonly string[] | undefined> {
  const matcher = shellGlob(part);
  if (!matcher) return undefined;
  const matches: string[] = [];
  for (const folder of folders) {
    const real = await files.realpath(folder);
    if (real === undefined || (await files.lstat(real)) !== "folder") continue;
    const entries = await files.list(folder, NAME_LIMIT);
    if (entries === undefined) return undefined;
    for (const { name } of entries) if (matcher(name)) matches.push(joined(folder, name));
  }
  return matches;
}

/** Some shells take `**` for all folders below, hidden ones and links left out; to others it is one folder. */
async function foldersBelow(
  files: FilePort,
  folders: readonly string[],
): Promise<readonly string[] | undefined> {
  const all = [...folders];
  let names = 0;
  // The list grows while it is gone through.
  for (const folder of all) {
    if ((await files.lstat(folder)) !== "folder") continue;
    const entries = await files.list(folder, NAME_LIMIT);
    names += entries?.length ?? NAME_LIMIT;
    if (entries === undefined || names > NAME_LIMIT) return undefined;
    for (const { name, isFolder } of entries)
      if (isFolder && !name.startsWith(".")) all.push(joined(folder, name));
  }
  return all;
}

function joined(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
