import type { TokenUsage } from "../history/entry.ts";
import type { Message } from "../history/transcript.ts";
import type { Price } from "./model.ts";

/** Characters of a token, roughly, in most languages and models. */
const CHARACTERS = 4;
/** What an image takes, roughly. */
const IMAGE_TOKENS = 1_500;
/** What surrounds a message or a part. */
const OVERHEAD = 4;

/** A number of tokens that a server told; `otherwise` where it told none, or nothing that can be counted with. */
export function reportedTokens(told: unknown, otherwise = 0): number {
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

/** Nothing used. */
export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 };

/** What two requests used together. */
export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  const sum = (name: "thoughtTokens" | "cachedReadTokens" | "cachedWriteTokens" | "cost") => {
    const both = (left[name] ?? 0) + (right[name] ?? 0);
    return both > 0 ? { [name]: both } : {};
  };
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    ...sum("thoughtTokens"),
    ...sum("cachedReadTokens"),
    ...sum("cachedWriteTokens"),
    ...sum("cost"),
  };
}

const MILLION = 1_000_000;

/** What a request cost, in the currency of the price. Tokens from a cache cost as much as others where nothing is said. */
export function costOf(usage: TokenUsage, price: Price): number {
  const { inputTokens, outputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage;
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  const sum =
    inputTokens * input +
    outputTokens * output +
    cachedReadTokens * cacheRead +
    cachedWriteTokens * cacheWrite;
  return sum / MILLION;
}

/** All tokens of a request: those that were read, wherever from, and those that were written. */
export function totalOf({
  inputTokens,
  outputTokens,
  cachedReadTokens = 0,
  cachedWriteTokens = 0,
}: TokenUsage): number {
  return inputTokens + outputTokens + cachedReadTokens + cachedWriteTokens;
}
