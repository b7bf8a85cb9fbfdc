import type OpenAI from "openai";
import type { ThoughtLevel } from "./model.ts";

/** How to reach OpenAI, or whoever speaks like it. */
export interface OpenAiAccess {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** The SDK takes a while to load, so it is loaded by the first request. Servers of one's own often want no key. */
export async function clientFor({ apiKey, baseUrl }: OpenAiAccess): Promise<OpenAI> {
  const { default: Client } = await import("openai");
  return new Client({
    apiKey: apiKey ?? "none",
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    maxRetries: 0,
    logLevel: "off",
  });
}

/** A thought level as OpenAI calls it. */
export function effortOf(level: Exclude<ThoughtLevel, "default">): "none" | "low" | "medium" | "high" {
  return level === "off" ? "none" : level;
}

/** The model that is used when nobody names one. */
export const DEFAULT_OPENAI_MODEL = "gpt-6.1-terra";

/** The models that are offered where there is a key. */
export const OFFERED_OPENAI_MODELS: readonly string[] = ["gpt-6.1-terra", "gpt-6.1-sol", "gpt-6-luna"];

const CONTEXTS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-[5-9]/, 272_000],
  [/^o\d/, 200_000],
];

/** How many tokens a model takes, by its name; of others, what is safe to assume. */
export function knownContext(model: string): number {
  return CONTEXTS.find(([name]) => name.test(model))?.[1] ?? 128_000;
}
