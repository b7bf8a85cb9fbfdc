import type { AnthropicAccess } from "./anthropic/anthropic-model.ts";
import type { OpenAiAccess } from "./openai/client.ts";

/** What decides which models there are. */
export interface ModelConfig {
  /** The model to begin with, such as `claude-sonnet-5-5`, `openai:gpt-6-sol` or `demo`. */
  readonly model?: string | undefined;
  readonly anthropic?: AnthropicAccess | undefined;
  readonly openai?: (OpenAiAccess & { readonly api?: "responses" | "chat" | undefined }) | undefined;
}

/** The configuration that environment variables make up. Empty ones count as absent. */
export function modelConfigFrom(env: Readonly<Record<string, string | undefined>>): ModelConfig {
  const given = (name: string) => env[name]?.trim() || undefined;
  const api = given("OPENAI_API");
  return {
    model: given("REINS_MODEL"),
    anthropic: {
      apiKey: given("ANTHROPIC_API_KEY"),
      authToken: given("ANTHROPIC_AUTH_TOKEN"),
      baseUrl: given("ANTHROPIC_BASE_URL"),
    },
    openai: {
      apiKey: given("OPENAI_API_KEY"),
      baseUrl: given("OPENAI_BASE_URL"),
      api: api === "chat" || api === "responses" ? api : undefined,
    },
  };
}
