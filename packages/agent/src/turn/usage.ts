import type { TokenUsage } from "../history/entry.ts";

/** Nothing used. */
export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 };

/** What two requests used together. */
export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  const sum = (name: "thoughtTokens" | "cachedReadTokens" | "cachedWriteTokens") => {
    const both = (left[name] ?? 0) + (right[name] ?? 0);
    return both > 0 ? { [name]: both } : {};
  };
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    ...sum("thoughtTokens"),
    ...sum("cachedReadTokens"),
    ...sum("cachedWriteTokens"),
  };
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
