import { isObject, type Message } from "../wire/message.ts";

/** No name needs anything that is not seen. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/**
 * What prose may not hide: control and bidirectional characters, zero widths, and the tags that can spell whole
 * sentences. Joiners stay; some scripts cannot do without them.
 */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u00ad\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e0fff}]/gu;

/** Whether a name holds characters that a reader would not see. */
export function hidesText(name: string): boolean {
  return UNSEEN.test(name);
}

/** The text with everything visible; line ends and tabs stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    /[\n\r\t]/.test(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** A tool's definition in which all prose is visible, however deep in its schemas. */
export function visibleProse(definition: Message): Message {
  return Object.fromEntries(Object.entries(definition).map(([name, member]) => [name, shown(name, member)]));
}

function shown(name: string, member: unknown): unknown {
  if (typeof member === "string")
    return name === "description" || name === "title" ? visible(member) : member;
  if (Array.isArray(member)) return member.map((item) => shown("", item));
  return isObject(member) ? visibleProse(member) : member;
}
