/** Control characters, and those that turn the direction of text around. Tab and line feed are harmless. */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Text of somebody else's with everything visible, so that it cannot steer the terminal it is shown on. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === "\n" || character === "\t" ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
