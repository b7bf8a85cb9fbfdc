/**
 * Characters that show nothing or change how others show: controls, direction marks, joiners, tags, unusual spaces,
 * private and unassigned ones, halves of surrogate pairs. The only definition; a security promise depends on it.
 */
export const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]/gu;

/** Whether a text has characters that a reader would not see. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

/** JSON on one line, or indented, with every hidden character escaped. It parses to the same value. */
export function visibleJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? "null").replace(HIDDEN, (character) =>
    character === "\n" ? character : escapeUnits(character),
  );
}

/** Text on one line, with hidden characters and line breaks as JSON escapes. Visible characters stay unchanged. */
export function visibleText(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => visibleJson(character).slice(1, -1));
}

/** Visible text with each line marked by `> `, so that no line of a foreign text passes for one of ours. */
export function quoteLines(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `> ${visibleText(line)}`)
    .join("\n");
}

/** A character as JSON escapes, one for each of its code units. */
function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
