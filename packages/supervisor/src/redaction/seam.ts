/** No seam is longer. */
export const LONGEST_SEAM = 20;

const ESCAPE = String.raw`\\[0bfnrtv]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}`;
const COLOUR = String.raw`(?:${"\u001b"}|\\u001b|\\x1b|\\033|\\e)\[[0-9;]{0,10}[a-z]`;
const CHANGED_LINE = String.raw`(?:^|\n|\\n)[+-]`;
const SEAM = new RegExp(`(?:${ESCAPE}|${COLOUR}|${CHANGED_LINE})$`, "i");

/**
 * Whether something ends before an index that looks like a part of the word that follows and is none: an escape of a
 * string, an address or a terminal, or the sign that a diff puts before a line.
 */
export function isAfterSeam(text: string, index: number): boolean {
  return SEAM.test(text.slice(Math.max(0, index - LONGEST_SEAM), index));
}
