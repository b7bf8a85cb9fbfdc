import type { TokenUsage } from "../history/entry.ts";
import type { Price } from "../models/model.ts";

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
