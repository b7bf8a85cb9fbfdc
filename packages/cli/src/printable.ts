import { stripVTControlCharacters } from "node:util";
import { HIDDEN } from "@reins/kit";

/** Spells out hidden characters in text from others, so that it cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === "\n" || character === "\t" ? character : visible(character),
  );
}

/** The same with line breaks. */
export function printableLine(text: string): string {
  return text.replace(HIDDEN, visible);
}

/** JSON with hidden characters escaped; it stays the same JSON. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(HIDDEN, (character) =>
    character === "\n" ? character : [...units(character)].join(""),
  );
}

function* units(character: string): Generator<string> {
  for (let index = 0; index < character.length; index += 1)
    yield `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
}

function visible(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

const GAP = "  ";

/** Aligns rows in columns. With a width, cuts lines to it. */
export function table(rows: readonly (readonly string[])[], width?: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => lengthOf(row[column] ?? ""))),
  );
  return rows
    .map((row) => `${width === undefined ? joined(row, widths) : cut(joined(row, widths), width)}\n`)
    .join("");
}

function joined(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - lengthOf(cell)));
  return cells.join(GAP).trimEnd();
}

/** Cuts text to a length, with an ellipsis. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 0)).toWellFormed()}…`;
}

function lengthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** Undefined without a terminal, where nothing is cut. */
export function screenWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || undefined : undefined;
}

export function pageWidth(): number {
  return screenWidth() ?? 80;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
