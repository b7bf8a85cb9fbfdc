import type { MediaPart, Message, TokenUsage } from "../history/entry.ts";
import type { Price } from "./model.ts";

/** Characters per token, roughly, for most languages and models. */
const CHARACTERS = 4;
/** Tokens of an image, roughly. */
const IMAGE_TOKENS = 1_500;
/** Bytes of a document per token, roughly: most of a PDF is not text. */
const DOCUMENT_BYTES = 40;
/** Tokens around a message or a part. */
const OVERHEAD = 4;

/** A token count as reported by a server; `otherwise` when it is absent or no valid count. */
export function reportedTokens(reported: unknown, otherwise = 0): number {
  return typeof reported === "number" && Number.isFinite(reported) && reported >= 0 ? reported : otherwise;
}

/** Estimates the tokens of a text. */
export function tokensIn(text: string): number {
  return tokensFor(text.length);
}

/** Estimates the tokens of a number of characters. */
export function tokensFor(characters: number): number {
  return Math.ceil(characters / CHARACTERS);
}

/** Estimates how many characters have so many tokens. */
export function charactersFor(tokens: number): number {
  return Math.floor(tokens * CHARACTERS);
}

/** Estimates the tokens of messages. */
export function tokensOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** Estimates the tokens of a message. */
export function tokensOf(message: Message): number {
  if (message.role === "tool")
    return message.results.reduce(
      (sum, { text, name, media = [] }) =>
        sum + tokensIn(text) + tokensIn(name) + tokensOfMedia(media) + OVERHEAD,
      OVERHEAD,
    );
  return message.parts.reduce((sum, part) => {
    if (part.type === "image") return sum + IMAGE_TOKENS;
    const text = part.type === "call" ? part.name + part.arguments : part.text;
    return sum + tokensIn(text) + OVERHEAD;
  }, OVERHEAD);
}

function tokensOfMedia(media: readonly MediaPart[]): number {
  return media.reduce(
    (sum, { mimeType, data }) =>
      sum +
      (mimeType === "application/pdf" ? Math.ceil((data.length * 3) / 4 / DOCUMENT_BYTES) : IMAGE_TOKENS),
    0,
  );
}

export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 };

/** Adds the usage of two requests. */
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

/** The cost of a request. Cached tokens cost as much as others when the price does not say otherwise. */
export function costOf(usage: TokenUsage, price: Price): number {
  const { inputTokens, outputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage;
  const { above } = price;
  const rates = above && inputTokens + cachedReadTokens + cachedWriteTokens > above.tokens ? above : price;
  const { input, output, cacheRead = input, cacheWrite = input } = rates;
  const sum =
    inputTokens * input +
    outputTokens * output +
    cachedReadTokens * cacheRead +
    cachedWriteTokens * cacheWrite;
  return sum / MILLION;
}

/** All tokens of a request: input, cached or not, and output. */
export function totalOf({
  inputTokens,
  outputTokens,
  cachedReadTokens = 0,
  cachedWriteTokens = 0,
}: TokenUsage): number {
  return inputTokens + outputTokens + cachedReadTokens + cachedWriteTokens;
}
