import type OpenAI from "openai";
import type { TokenUsage } from "../history/entry.ts";
import type { KnownModel, Model, ModelEvent, ModelInfo, ModelRequest, ThoughtLevel } from "./model.ts";
import { providerModel } from "./provider-api.ts";
import { reportedTokens } from "./tokens.ts";

/** Access to OpenAI or a compatible server. */
export interface OpenAiAccess {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** A model of an id such as `openai:gpt-6-sol`; `start` sends a request by one of the two APIs. */
export function openAiModel(
  id: string,
  access: OpenAiAccess,
  start: (client: OpenAI, request: ModelRequest, signal: AbortSignal) => Promise<AsyncIterable<ModelEvent>>,
  known: KnownModel,
  more: Pick<ModelInfo, "toolSearch" | "toolSearchBy"> = {},
): Model {
  const { contextTokens = knownContext(id.slice(id.indexOf(":") + 1)), images = true } = known;
  const { maxOutputTokens = Math.floor(contextTokens / 8) } = known;
  const info = { id, contextTokens, maxOutputTokens, images, summarises: true, ...more };
  let client: Promise<OpenAI> | undefined;
  return providerModel(info, async (request, signal) => {
    client ??= clientFor(access);
    return start(await client, request, signal);
  });
}

/** Loads the SDK on the first request, because loading takes a while. Local servers often need no key. */
async function clientFor({ apiKey, baseUrl }: OpenAiAccess): Promise<OpenAI> {
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

/** The usage of a request. OpenAI counts what its cache held, and what it took, as input too. */
export function openAiUsage(
  reported: Record<"input" | "output" | "cached" | "cacheWritten" | "thought", unknown>,
): TokenUsage {
  const cachedReadTokens = reportedTokens(reported.cached);
  const cachedWriteTokens = reportedTokens(reported.cacheWritten);
  const thoughtTokens = reportedTokens(reported.thought);
  return {
    inputTokens: Math.max(0, reportedTokens(reported.input) - cachedReadTokens - cachedWriteTokens),
    outputTokens: reportedTokens(reported.output),
    ...(cachedReadTokens > 0 && { cachedReadTokens }),
    ...(cachedWriteTokens > 0 && { cachedWriteTokens }),
    ...(thoughtTokens > 0 && { thoughtTokens }),
  };
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
function knownContext(model: string): number {
  return CONTEXTS.find(([name]) => name.test(model))?.[1] ?? 128_000;
}
