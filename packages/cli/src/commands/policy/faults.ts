import type { PolicyFault } from "@reins/policy";
import { printableLine } from "../../printable.ts";
import { WIDTH, wrapped } from "./layout.ts";

/** A place in a file, with the line that stands there and a mark under what is meant. */
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

/** As much of a line as there is room for, around a place in it. */
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

/** A fault for programs. */
export function plainFault({ message, place }: PolicyFault) {
  return { message, line: place?.line ?? null, column: place?.column ?? null };
}
