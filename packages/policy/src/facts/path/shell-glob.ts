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
