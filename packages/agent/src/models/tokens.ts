import type { Message } from "../history/transcript.ts";

/** Characters of a token, roughly, in most languages and models. */
const CHARACTERS = 4;
/** What an image takes, roughly. */
const IMAGE_TOKENS = 1_500;
/** What surrounds a message or a part. */
const OVERHEAD = 4;

/** A number of tokens that a server told; `otherwise` where it told none, or nothing that can be counted with. */
export function toldTokens(told: unknown, otherwise = 0): number {
  return typeof told === "number" && Number.isFinite(told) && told >= 0 ? told : otherwise;
}

/** How many tokens a text has, roughly. */
export function tokensIn(text: string): number {
  return tokensFor(text.length);
}

/** How many tokens so many characters are, roughly. */
export function tokensFor(characters: number): number {
  return Math.ceil(characters / CHARACTERS);
}

/** How many tokens messages have together, roughly. */
export function tokensOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
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
