import { HIDDEN } from "@reins/kit";
import { printable, printableLine } from "../output.ts";

/** How parts of a text look. */
export interface Style {
  dim(text: string): string;
  strong(text: string): string;
  emphasis(text: string): string;
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
  accent(text: string): string;
}

const same = (text: string) => text;

export const PLAIN_STYLE: Style = {
  dim: same,
  strong: same,
  emphasis: same,
  good: same,
  warn: same,
  bad: same,
  accent: same,
};

const sgr = (on: number, off: number) => (text: string) =>
  text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;

/** The sixteen colours that every terminal has, so that the user's theme decides. */
export const COLOUR_STYLE: Style = {
  dim: sgr(2, 22),
  strong: sgr(1, 22),
  emphasis: sgr(3, 23),
  good: sgr(32, 39),
  warn: sgr(33, 39),
  bad: sgr(31, 39),
  accent: sgr(36, 39),
};

const EMOJI = /\p{RGI_Emoji}/gv;
const JOINERS = /[\u200d\ufe0f\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/gu;
const STACKED = /(\p{M}{3})\p{M}+/gu;
const TAB = "    ";

/**
 * Text of a conversation, safe for the terminal: hidden characters are spelled out as in {@link printable}. Emoji lose
 * what joins or tints them, because terminals disagree about the width of such sequences, and stacked marks are cut.
 * Not for what an approval shows, which is exact.
 */
export function prose(text: string): string {
  const simple = text.replace(/\r\n?/g, "\n").replace(EMOJI, (emoji) => emoji.replace(JOINERS, "") || emoji);
  return printable(simple.replace(STACKED, "$1")).replaceAll("\t", TAB);
}

/** The same on one line. */
export function proseLine(text: string): string {
  return printableLine(prose(text.replace(/\s+/g, " ").trim()));
}

/** Text that is shown as it is, with hidden characters spelled out, on one line. */
export const exactLine = printableLine;

/** Escape sequences that only change how text looks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for.
const LOOK = /\u001b\[[\d;]*m/g;

/**
 * The last border before the terminal: a line passes unchanged if it holds nothing hidden but changes of its look. Else
 * what is hidden is spelled out, so that no text can move the cursor, set the title or the clipboard, or erase.
 */
export function guarded(line: string): string {
  if (line.replace(LOOK, "").search(HIDDEN) < 0) return line;
  let result = "";
  let from = 0;
  for (const { 0: look, index } of line.matchAll(LOOK)) {
    result += printableLine(line.slice(from, index)) + look;
    from = index + look.length;
  }
  return result + printableLine(line.slice(from));
}
