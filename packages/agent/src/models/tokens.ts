import type { Message } from "../history/transcript.ts";

/** Characters of a token, roughly, in most languages and models. */
const CHARACTERS = 4;
/** What an image takes, roughly. */
const IMAGE_TOKENS = 1_500;
/** What surrounds a message or a part. */
const OVERHEAD = 4;

/** How many tokens a text has, roughly. */
export function tokensIn(text: string): number {
  return Math.ceil(text.length / CHARACTERS);
}

/** How many tokens a message has, roughly. */
export function tokensOf(message: Message): number {
  if (message.role === "tool")
    return message.results.reduce(
      (sum, { text, name }) => sum + tokensIn(text) + tokensIn(name) + OVERHEAD,
      OVERHEAD,
    );
  return message.parts.reduce((sum, part) => {
    if (part.type === "image") return sum + IMAGE_TOKENS;
    const text = part.type === "call" ? part.name + part.arguments : part.text;
    return sum + tokensIn(text) + OVERHEAD;
  }, OVERHEAD);
}
