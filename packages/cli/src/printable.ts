import { HIDDEN } from "@reins/supervisor/visible";

/** Text of somebody else's with everything visible, so that it cannot steer the terminal it is shown on. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === "\n" || character === "\t" ? character : visible(character),
  );
}

/** The same for text that is to stay on its line. */
export function printableLine(text: string): string {
  return text.replace(HIDDEN, visible);
}

/** JSON on several lines with everything visible; it stays the same JSON. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(HIDDEN, (character) =>
    character === "\n" ? character : [...units(character)].join(""),
  );
}

/** A character as JSON escapes, one for each of its code units. */
function* units(character: string): Generator<string> {
  for (let index = 0; index < character.length; index += 1)
    yield `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
}

function visible(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
