import { HIDDEN } from "@reins/kit";
import { isObject, type Message } from "../wire/message.ts";

/**
 * Hidden characters that prose needs: line ends, tabs, the spaces of scripts, joiners, and the mark of a colored emoji.
 * Everything else that {@link HIDDEN} lists is written out, because it can carry text that only a model reads.
 */
const PROSE: ReadonlySet<string> = new Set([
  "\n",
  "\r",
  "\t",
  "\u00a0",
  "\u3000",
  "\u200c",
  "\u200d",
  "\ufe0f",
]);

/** The text with hidden characters written out. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    PROSE.has(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
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
