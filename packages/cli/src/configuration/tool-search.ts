import { embedderFor } from "@reins/bridge";
import type { NativeSettings } from "@reins/host";
import { z } from "zod";

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
