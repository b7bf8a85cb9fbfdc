const LABEL = 9;
/** Lines stay at least this wide. */
const NARROWEST = 20;
const INDENT = "  ";
/** Lines of a block begin with this. */
export const BAR = "  |";
const FOLDED_BAR = "  ¦   ";

export interface SheetRow {
  readonly label: string;
  readonly lines: readonly string[];
}

/** Formats labelled rows. Folds long lines itself, so that no text from others can begin a line at the left margin. */
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

function isBarred(line: string): boolean {
  return line.startsWith(BAR);
}

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

/** An upper bound: characters outside of ASCII may take two columns. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += character <= "~" ? 1 : 2;
  return columns;
}
