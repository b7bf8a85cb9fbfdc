/** Where a word begins within one: `camelCase`, `HTTPServer`, `v2`. */
const SEAMS = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Scripts that are written without spaces; each sign counts by itself. */
const SIGNS = /(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u;

/** The words of a text, lower case. Names of code are taken apart and kept whole besides. */
export function tokensOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(SEAMS).flatMap((part) => part.split(SIGNS));
    const whole = parts.length > 1 ? [...parts, word] : parts;
    return whole.map((part) => part.toLowerCase());
  });
}
