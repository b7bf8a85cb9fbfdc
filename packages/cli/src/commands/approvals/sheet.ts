const LABEL = 9;
/** A line never becomes narrower than this, however small the terminal. */
const NARROWEST = 20;
const INDENT = "  ";
/** What lines of a block begin with, and those that were folded. */
export const BAR = "  |";
const FOLDED_BAR = "  ¦   ";

/** A part of a sheet: what it is called, and its lines. */
export interface SheetRow {
  readonly label: string;
  readonly lines: readonly string[];
}

/**
 * A sheet of rows. What does not fit is folded here rather than by the terminal, so that no text, however long, can
 * begin a line of its own: what stands at the left margin was written by Reins.
 */
export function sheet(rows: readonly SheetRow[], width: number): string {
  const room = Math.max(width - LABEL - 2, NARROWEST);
  return rows
    .flatMap(({ label, lines }) =>
      lines
        .flatMap((line) => (isBarred(line) ? foldedAnywhere(line, room) : foldedAtSpaces(line, room)))
        .map((line, index) => `${(index === 0 ? label : "").padEnd(LABEL)}  ${line}`.trimEnd()),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Whether a line is one of a block, which stands behind a bar. */
function isBarred(line: string): boolean {
  return line.startsWith(BAR);
}

/** A sentence in pieces that fit, where it may be folded between words; those after the first are indented. */
function foldedAtSpaces(line: string, room: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const word of line.split(" ")) {
    const longer = piece === "" ? word : `${piece} ${word}`;
    if (piece !== "" && columnsOf(longer) > room) {
      pieces.push(piece);
      piece = `${INDENT}${word}`;
    } else piece = longer;
  }
  return [...pieces, piece].flatMap((each) => foldedAnywhere(each, room));
}

/** A line in pieces that fit, wherever it has to be folded; a line of a block keeps its bar. */
function foldedAnywhere(line: string, room: number): string[] {
  const mark = isBarred(line) ? FOLDED_BAR : INDENT;
  const pieces: string[] = [];
  let piece = "";
  let taken = 0;
  for (const character of line) {
    const columns = columnsOf(character);
    if (taken + columns > room) {
      pieces.push(piece);
      piece = mark;
      taken = mark.length;
    }
    piece += character;
    taken += columns;
  }
  return [...pieces, piece];
}

/** How many columns a text takes at most: what is not plain ASCII may take two for each character. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += character <= "~" ? 1 : 2;
  return columns;
}
