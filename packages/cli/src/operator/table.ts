import { stripVTControlCharacters } from "node:util";

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
