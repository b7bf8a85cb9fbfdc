import type { PolicyFault } from "@reins/policy";
import { count, cut, printableLine } from "../../output.ts";

export const WIDTH = 80;

/** Wraps text, each line indented; the first may be indented less. */
export function wrapped(text: string, indent: number, first = indent): string {
  const lines: string[] = [];
  let line = " ".repeat(first);
  let empty = true;
  for (const word of printableLine(text).split(" ")) {
    if (!empty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = " ".repeat(indent);
      empty = true;
    }
    line += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, line].map((each) => `${each}\n`).join("");
}

/** The same as {@link cut} with hidden characters spelled out. */
export function cutPrintable(text: string, length: number): string {
  return cut(printableLine(text), length);
}

/** Names and numbers in columns. */
export function numbers(rows: readonly (readonly [string, ...number[]])[], indent = 2): string {
  const widest = Math.max(...rows.map(([name]) => name.length));
  const width = Math.max(...rows.flatMap(([, ...values]) => values.map((value) => count(value).length)));
  return rows
    .map(([name, ...values]) => {
      const columns = values.map((value) => count(value).padStart(width)).join("   ");
      return `${" ".repeat(indent)}${name.padEnd(widest)}   ${columns}\n`;
    })
    .join("");
}

/** A value on one line, as in the file. */
export function inline(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (members.length === 0) return "{}";
    return `{ ${members.map(([name, member]) => `${name}: ${inline(member)}`).join(", ")} }`;
  }
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !NO_TEXT.test(value) ? value : JSON.stringify(value);
}

/** Text that needs no quotes, and text that would be another type without them. */
const PLAIN = /^[\w/*.@+-]([\w /*.:@+-]*[\w/*.@+-])?$/;
const NO_TEXT = /^(true|false|null|[\d.+-]+)$|: /;

export function ruleName(rule: string | null | undefined): string {
  return rule === null || rule === undefined ? "no rule" : `"${rule}"`;
}

/** Shows a fault with its line and a mark under its position. */
export function describeFault(
  { message, place }: PolicyFault,
  { file, rules }: { readonly file: string; readonly rules: string },
  kind = "",
): string {
  const said = `${kind}${message}`;
  if (!place) return wrapped(`${file}: ${said}`, 4, 0);
  const { line, column } = place;
  const gutter = `${" ".repeat(2)}${line} | `;
  const shown = windowOn(rules.split(/\r?\n/)[line - 1] ?? "", column - 1, WIDTH - gutter.length);
  return [
    wrapped(`${file}:${line}:${column}: ${said}`, 4, 0).trimEnd(),
    `${gutter}${shown.text}`.trimEnd(),
    `${" ".repeat(gutter.length - 2)}| ${" ".repeat(shown.mark)}^`,
    "",
  ].join("\n");
}

/** The part of a long line around an index. */
function windowOn(line: string, index: number, room: number): { text: string; mark: number } {
  const before = printableLine(line.slice(0, index));
  const whole = before + printableLine(line.slice(index));
  if (whole.length <= room) return { text: whole, mark: before.length };
  const start = Math.max(0, Math.min(before.length - Math.floor(room / 2), whole.length - room));
  const end = start + room;
  const [left, right] = [start > 0 ? "…" : "", end < whole.length ? "…" : ""];
  const text = left + whole.slice(start + left.length, end - right.length) + right;
  return { text, mark: before.length - start };
}

export function plainFault({ message, place }: PolicyFault) {
  return { message, line: place?.line ?? null, column: place?.column ?? null };
}
