import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { HIDDEN } from "@reins/kit";
import { systemCode } from "./errors.ts";

/** Writes a long result with back-pressure, and not after the reader closed. */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #gone = new AbortController();

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on("error", (error) => {
      if (systemCode(error) !== "EPIPE") throw error;
      this.#gone.abort();
    });
  }

  /** Aborts when the reader closed early, such as `head`. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.#stream.write(text)) return;
    await once(this.#stream, "drain", { signal: this.gone }).catch((error: unknown) => {
      if (!this.gone.aborted && systemCode(error) !== "EPIPE") throw error;
    });
  }
}

interface PageOptions<Item> {
  /** The name of the items in the JSON document, where one is wanted. */
  readonly json: string | undefined;
  /** The text of a page; `isFirst` is for a heading. */
  readonly text: (page: readonly Item[], isFirst: boolean) => string;
  /** The text where there are no items. */
  readonly none: string;
}

/** Prints pages of a list as they come, or all items as one JSON document. */
export async function printPages<Item>(
  pages: AsyncIterable<readonly Item[]>,
  { json, text, none }: PageOptions<Item>,
): Promise<void> {
  const output = new Output(process.stdout);
  const all: Item[] = [];
  let isFirst = true;
  for await (const page of pages) {
    if (json !== undefined) all.push(...page);
    else if (page.length > 0) await output.write(text(page, isFirst));
    if (page.length > 0) isFirst = false;
    if (output.gone.aborted) return;
  }
  if (json !== undefined) await output.write(`${JSON.stringify({ [json]: all })}\n`);
  else if (isFirst) await output.write(none);
}

export function print(text: string): void {
  process.stdout.write(text);
}

/** Reports something beside the result of a command. */
export type Notice = (message: string) => void;

/** A line for people, a JSON document for programs. */
export function noticeOnStderr(json: boolean | undefined): Notice {
  return (message) => {
    process.stderr.write(json ? `${JSON.stringify({ notice: { message } })}\n` : `reins: ${message}\n`);
  };
}

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
