import { CONTEXT } from "../../format.ts";
import { BLANK, characters } from "../../notation/character-set.ts";
import type { Writing } from "./assigned-value.ts";
import { endOfEscapes, openingAt } from "./quoted.ts";

/** Between a name and its value there is no more. */
export const LONGEST_GAP = 192;
const CLOSING = characters("\"'`\\]\\\\*?");
const COLOUR = characters("\\[0-9;");
const EMPHASIS = characters("*");
const SIGN = characters(":=>");
/** What stands before a name whose value is the next word: `--password …`, `login ann password …`. */
const TAKES_NEXT = /(?:^|[\s"'=(])(?:--(?:[A-Za-z0-9]+[-_])*|login\s+[\w.@-]{1,20}\s+)$/;

/** What stands before the name of a user in an address, whose password is another format's. */
const IN_ADDRESS = /:\/\/[\w.-]*$/;

/** Where a value begins, and how it is written. */
export interface Beginning {
  readonly from: number;
  readonly writing: Writing;
  readonly isElement?: boolean;
}

/** Where the value begins that follows a name; `open` if more text has to tell. */
export function beginningOf(text: string, start: number, end: number): Beginning | "none" | "open" {
  if (text.charAt(end) === ">" && /<[\w:.-]*$/.test(before(text, start))) {
    if (end + 1 === text.length) return "open";
    return text.charAt(end + 1) === "@" ? "none" : { from: end + 1, writing: "quoted", isElement: true };
  }
  const closed = CLOSING.endOfRun(text, end, end + 6);
  const sign = endOfBlank(text, closed);
  if (sign === text.length) return "open";
  const value = SIGN.endOfRun(text, sign, sign + 3);
  if (value === sign) {
    return sign === end + 1 && TAKES_NEXT.test(before(text, start))
      ? { from: sign, writing: "bare" }
      : "none";
  }
  const signs = text.slice(sign, value);
  if (
    signs.startsWith(">") ||
    signs.startsWith("::") ||
    (signs === ":" && IN_ADDRESS.test(before(text, start)))
  )
    return "none";
  const from = endOfBlank(text, EMPHASIS.endOfRun(text, value, value + 2));
  if (endOfEscapes(text, from) === text.length) return "open";
  if (signs.startsWith("==") && !openingAt(text, from)) return "none";
  const isShell = signs === "=" && closed === end && from === value && isCapital(text, start, end);
  return { from, writing: isShell && sign === end ? "shell" : "bare" };
}

/** Where blanks end, and changes of colour between them. */
function endOfBlank(text: string, from: number): number {
  let index = from;
  for (let changes = 0; changes < 4; changes += 1) {
    index = BLANK.endOfRun(text, index, from + 8 + 8 * changes);
    if (text.charAt(index) !== "\u001b") break;
    const end = COLOUR.endOfRun(text, index + 1, index + 12);
    if (end === text.length) return end;
    if (text.charAt(end) !== "m") break;
    index = end + 1;
  }
  return index;
}

function before(text: string, start: number): string {
  return text.slice(Math.max(0, start - CONTEXT), start);
}

function isCapital(text: string, start: number, end: number): boolean {
  return !/[a-z]/.test(text.slice(start, end));
}
