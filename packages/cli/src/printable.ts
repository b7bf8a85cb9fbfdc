import { stripVTControlCharacters } from "node:util";
import { HIDDEN } from "@reins/kit";

/** Text of somebody else's with everything visible, so that it cannot steer the terminal it is shown on. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === "\n" || character === "\t" ? character : visible(character),
  );
}

/** The same for text that is to stay on its line. */
export function printableLine(text: string): string {
  return text.replace(HIDDEN, visible);
}

/** JSON on several lines with everything visible; it stays the same JSON. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(HIDDEN, (character) =>
    character === "\n" ? character : [...units(character)].join(""),
  );
}

/** A character as JSON escapes, one for each of its code units. */
function* units(character: string): Generator<string> {
  for (let index = 0; index < character.length; index += 1)
    yield `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
}

function visible(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

const GAP = "  ";

/** Rows under each other, each column as wide as it has to be; with a width, the last column is cut to stay within. */
export function table(rows: readonly (readonly string[])[], width?: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => lengthOf(row[column] ?? ""))),
  );
  return rows.map((row) => `${fitted(joined(row, widths), width)}\n`).join("");
}

function joined(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - lengthOf(cell)));
  return cells.join(GAP).trimEnd();
}

function fitted(line: string, width: number | undefined): string {
  if (width === undefined || line.length <= width) return line;
  return `${line.slice(0, Math.max(width - 1, 0)).toWellFormed()}…`;
}

function lengthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** The columns of the terminal that results go to; without one nothing is cut. */
export function screenWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || undefined : undefined;
}

/** The columns that text for people is folded to. */
export function pageWidth(): number {
  return screenWidth() ?? 80;
}
