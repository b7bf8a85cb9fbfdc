import { HIDDEN } from "@reins/kit/hidden";

/** The hidden characters, and the bracket that opens an escape: text that looks like an escape is escaped itself. */
const ESCAPED = new RegExp(`${HIDDEN.source}|⟨`, "gu");

/** Escapes every hidden character as `⟨U+202E⟩`; line feeds and tabs stay. Use where white space is kept. */
export function visible(text: string): string {
  return text.replaceAll(ESCAPED, (one) => (one === "\n" || one === "\t" ? one : escaped(one)));
}

/** Escapes every hidden character, line feeds and tabs included, for text that is shown on one line. */
export function visibleLine(text: string): string {
  return text.replaceAll(ESCAPED, escaped);
}

function escaped(one: string): string {
  return `⟨U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
