import type OpenAI from "openai";
import type { ThoughtLevel } from "./model.ts";

/** Access to OpenAI or a compatible server. */
export interface OpenAiAccess {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** Loads the SDK on the first request, because loading takes a while. Local servers often need no key. */
export async function clientFor({ apiKey, baseUrl }: OpenAiAccess): Promise<OpenAI> {
  const { default: Client } = await import("openai");
  return new Client({
    apiKey: apiKey ?? "none",
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    maxRetries: 0,
    logLevel: "off",
  });
}

/** OpenAI's name of a thought level. */
export function effortOf(level: Exclude<ThoughtLevel, "default">): "none" | "low" | "medium" | "high" {
  return level === "off" ? "none" : level;
}

export const DEFAULT_OPENAI_MODEL = "gpt-6.1-terra";

/** The models that are offered when there is a key. */
export const OFFERED_OPENAI_MODELS: readonly string[] = ["gpt-6.1-terra", "gpt-6.1-sol", "gpt-6-luna"];

const CONTEXTS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-[5-9]/, 272_000],
  [/^o\d/, 200_000],
];

/** The context of a model by its name; a safe value for an unknown one. */
export function knownContext(model: string): number {
  return CONTEXTS.find(([name]) => name.test(model))?.[1] ?? 128_000;
}
