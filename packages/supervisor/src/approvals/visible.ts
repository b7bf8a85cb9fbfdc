/**
 * Characters that show nothing, or change how others show: controls, direction marks, joiners, tags, unusual spaces,
 * private and unassigned ones, halves of surrogate pairs. The one definition; the page has it from the API, and a test
 * holds the two to each other.
 */
export const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]/gu;

/** Text as a JSON string in which every hidden character is written out; read back, it is the text again. */
export function visible(text: string): string {
  return visibleJson(text);
}

/** JSON on one line in which every hidden character is written out; read back, it is the value again. */
export function visibleJson(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(""),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
