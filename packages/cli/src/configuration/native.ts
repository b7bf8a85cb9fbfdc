import { embedderFor } from "@reins/bridge";
import { ModelPrice } from "@reins/gateway";
import type { HostingOptions, NativeSettings } from "@reins/host";
import { z } from "zod";

const ModelName = z.string().min(1).max(200);

/** A model, where what its name says is not enough. */
const ModelDescription = z.strictObject({
  /** The tokens of its context. */
  context: z.int().min(1_000).max(100_000_000).optional(),
  /** The tokens of an answer. */
  output: z.int().min(256).max(10_000_000).optional(),
  /** Whether it accepts images. */
  images: z.boolean().optional(),
  /** Whether its server takes PDF by Chat Completions, as OpenAI's own does. */
  pdf: z.boolean().optional(),
});

/** How the native agent keeps many tools out of its prompts. */
export const ToolSearch = z.strictObject({
  /** How tools are found: by words, by a regular expression, by meaning (`embedding` is the same), or by the host. */
  strategy: z
    .enum(["bm25", "regex", "semantic", "embedding", "host"])
    .transform((strategy) => (strategy === "embedding" ? "semantic" : strategy))
    .optional(),
  /** Who searches: the model's provider, this agent, or the provider where it can. */
  mode: z.enum(["auto", "native", "client"]).optional(),
  /** What finds tools where the host or the embedding fails. */
  fallback: z.enum(["bm25"]).optional(),
  /** Tools of MCP servers and hosts are deferred when there are more than this. */
  threshold: z.int().min(0).max(10_000).optional(),
  /** Tools that are always deferred. */
  defer: z.array(z.string().min(1)).optional(),
  /** Tools that are never deferred. */
  always_loaded: z.array(z.string().min(1)).optional(),
  /** How many tokens of found tools a prompt may hold. */
  budget_tokens: z.int().min(0).max(1_000_000).optional(),
  /** An embeddings endpoint in OpenAI's form, for `semantic`; without one the host is asked. */
  embedding: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      model: z.string().min(1),
      /** An environment variable that holds its key. */
      key_variable: z.string().min(1).optional(),
    })
    .optional(),
});
export type ToolSearch = z.infer<typeof ToolSearch>;

/** `native` in `reins.yaml`: the agent of Reins itself. */
export const NativeConfiguration = z
  .strictObject({
    /** Hours of the day, in local time, without background work. */
    quiet_hours: z.strictObject({ from: z.int().min(0).max(23), to: z.int().min(0).max(24) }).optional(),
    /** The load per processor up to which background work runs. */
    most_load: z.number().positive().optional(),
    /** Seconds to wait for a model at its rate limit. */
    patience: z.number().min(0).max(86_400).optional(),
    /** Whether a long turn continues without a question. */
    may_spend: z.boolean().optional(),
    /** The price of models in dollars per million tokens, by id or name; limits on `cost` use it. */
    prices: z.record(z.string().min(1), ModelPrice).default({}),
    /** The model of new sessions, where the environment names none. */
    model: ModelName.optional(),
    /** What is known of models, by id or name; they are on offer. */
    models: z.record(ModelName, ModelDescription).optional(),
    /** The models that are asked, in this order, when one is at its limit or cannot be reached. */
    fallbacks: z.array(ModelName).max(8).optional(),
    /** Variables of the commands that it runs, in place of those of Reins. */
    environment: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string().max(32_768)).optional(),
    /** How many tools are kept out of prompts and found. */
    tool_search: ToolSearch.optional(),
  })
  .prefault({});

/** Maps the configuration of the native agent to the options of the host. */
export function nativeSettings({
  quiet_hours,
  most_load,
  patience,
  may_spend,
  prices = {},
  model,
  models,
  fallbacks,
  environment,
  tool_search,
  unknown_price,
}: Partial<z.infer<typeof NativeConfiguration>> & {
  /** What models without a price are counted as. */
  readonly unknown_price?: ModelPrice | undefined;
}): NonNullable<HostingOptions["native"]> {
  return {
    idle: {
      ...(quiet_hours && { quietHours: quiet_hours }),
      ...(most_load !== undefined && { mostLoad: most_load }),
    },
    patience: { ...(patience !== undefined && { mostMs: patience * 1_000 }) },
    presence: { ...(may_spend !== undefined && { maySpend: may_spend }) },
    prices,
    ...(unknown_price && { unknownPrice: unknown_price }),
    ...((model ?? models ?? fallbacks) && {
      models: { model, known: models && knownModels(models), fallbacks },
    }),
    ...(environment && { environment }),
    ...(tool_search && { toolSearch: toolSearchSettings(tool_search) }),
  };
}

function knownModels(models: Readonly<Record<string, z.infer<typeof ModelDescription>>>) {
  return Object.fromEntries(
    Object.entries(models).map(([name, { context: contextTokens, output: maxOutputTokens, ...takes }]) => [
      name,
      { contextTokens, maxOutputTokens, ...takes },
    ]),
  );
}

/** Maps the configuration of the search to the options of the native agent. */
export function toolSearchSettings(
  { strategy, mode, fallback, threshold, defer, always_loaded, budget_tokens, embedding }: ToolSearch,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): NonNullable<NativeSettings["toolSearch"]> {
  const { url, model, key_variable } = embedding ?? {};
  const apiKey = key_variable === undefined ? undefined : environment[key_variable];
  return {
    ...(strategy && { strategy }),
    ...(mode && { mode }),
    ...(fallback && { fallback }),
    ...(threshold !== undefined && { threshold }),
    ...(defer && { defer }),
    ...(always_loaded && { alwaysLoaded: always_loaded }),
    ...(budget_tokens !== undefined && { budgetTokens: budget_tokens }),
    ...(url !== undefined && model !== undefined && { embed: embedderFor({ url, model, apiKey }) }),
  };
}
