import type { Rest } from "../format.ts";
import { BASE64, characters } from "../notation/character-set.ts";

/** A line of a key is never shorter, but the last. */
export const LINE = 16;
/** How much may stand between two lines: line ends, an indent, quotes, a plus. */
export const GAP = 24;
const DASHES = "-----";
/** As far as one has to look to know whether lines go on. */
const VIEW = 3 * GAP + LINE + DASHES.length;
const DIGIT = characters("0-9");
const ESCAPED = characters("nrt");
const SPACE = characters("\\s\\\\");

/** Lines of base64 up to the footer, however they are indented, quoted, numbered or escaped. Prose ends them too. */
export const KEY_LINES: Rest = {
  hidesUnknown: true,
  goesOn(text, index, final) {
    if (!final && index + 1 === text.length && text.charAt(index) === "+") return undefined;
    if (isOfLine(text, index) && isOfLine(text, index - 1)) return true;
    const back = Math.min(index, 2);
    const view = text.slice(index - back, index + VIEW);
    return lineFollows(view, back, final || view.length === back + VIEW);
  },
};

/** Where the gap that begins at an index ends, or the text. */
export function endOfGap(text: string, from: number): number {
  let index = from;
  while (
    index < text.length &&
    index - from < GAP &&
    !isOfLine(text, index) &&
    !text.startsWith(DASHES, index)
  )
    index += 1;
  return index;
}

/** Where a line begins that begins with its number. */
export function afterNumber(text: string, from: number): number {
  const end = DIGIT.endOfRun(text, from, from + 6);
  const next = endOfGap(text, end);
  return end > from && next > end ? next : from;
}

function lineFollows(text: string, from: number, isWhole: boolean): boolean | undefined {
  if (text.startsWith(DASHES, from)) return false;
  const start = afterNumber(text, endOfGap(text, from));
  if (text.startsWith(DASHES, start)) return true;
  const end = BASE64.endOfRun(text, start, start + LINE);
  if (end - start === LINE) return true;
  if (end === text.length) return isWhole ? end > start : undefined;
  if (end === start) return false;
  const next = endOfGap(text, end);
  if (text.startsWith(DASHES, next)) return true;
  return isWhole || next + DASHES.length <= text.length ? false : undefined;
}

/** Whether a character is one of a line of base64, and not of an escape or a plus between two strings. */
function isOfLine(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  if (!BASE64.has(code)) return false;
  if (ESCAPED.has(code) && text.charAt(index - 1) === "\\") return false;
  return text.charAt(index) !== "+" || !SPACE.has(text.charCodeAt(index + 1));
}
