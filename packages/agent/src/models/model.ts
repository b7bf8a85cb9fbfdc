import type { JsonObject } from "@reins/acp";
import type { Message, TokenUsage } from "../history/entry.ts";

/** How much a model thinks before it answers; `default` leaves it to the model. */
export type ThoughtLevel = "default" | "off" | "low" | "medium" | "high";

/** A tool that a model may call. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: JsonObject;
  /** Whether the provider shows it to the model only after a search. */
  readonly isDeferred?: boolean | undefined;
}

/** A request to a model. */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly thoughtLevel: ThoughtLevel;
  /** How the provider searches for deferred tools. */
  readonly toolSearch?: "bm25" | "regex" | undefined;
}

export type ModelStop =
  | "end"
  | "tool_use"
  | "max_tokens"
  | "refusal"
  /** The model paused and continues with the next request. */
  | "paused"
  /** The conversation exceeds the context. */
  | "context_exceeded";

/** An event of a model's stream. */
export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  /** The end of a thought; the seal has to be returned to the model with it. */
  | { readonly type: "thinking_end"; readonly seal?: JsonObject }
  /** A complete call; one that was cut off is never reported. */
  | { readonly type: "call"; readonly id: string; readonly name: string; readonly arguments: string }
  /** A search of the provider for tools; the seal has to be returned to the model. */
  | {
      readonly type: "search";
      readonly query: string;
      readonly found: readonly string[];
      readonly seal: JsonObject;
    }
  /** Activity without content, such as a fragment of a call. */
  | { readonly type: "progress" }
  /** The usage of the request so far. */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  /** Always last; a stream without it was cut off. */
  | { readonly type: "end"; readonly stop: ModelStop };

/** The price of a model in dollars per million tokens. */
export interface Price extends Rates {
  /** What all tokens of a request cost whose input is longer than so many tokens. */
  readonly above?: (Rates & { readonly tokens: number }) | undefined;
}

interface Rates {
  readonly input: number;
  readonly output: number;
  /** For input that is read from or written to a cache; as other input when absent. */
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

/** What is known of a model. */
export interface ModelInfo {
  /** The id by which it is chosen, such as `anthropic:claude-sonnet-5-5`. */
  readonly id: string;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** Whether it accepts images. */
  readonly images: boolean;
  /** Whether it can summarise a conversation. */
  readonly summarises: boolean;
  /** Whether its provider searches for tools: for certain, or as far as is known. */
  readonly toolSearch?: "always" | "possible" | undefined;
  /** The only strategy by which it does; any if absent. */
  readonly toolSearchBy?: "bm25" | undefined;
  /** Absent when it is not known; limits on cost refuse it then. */
  readonly price?: Price | undefined;
}

/** What an operator knows of a model. */
export interface KnownModel {
  /** The tokens of its context and of an answer. */
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly images?: boolean | undefined;
  /** Whether its server takes PDF by Chat Completions. */
  readonly pdf?: boolean | undefined;
}

/** A model. Every failure is a {@link ModelError}; aborting ends the stream with the signal's reason. */
export interface Model {
  readonly info: ModelInfo;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export type ModelErrorCode =
  | "unauthorized"
  | "unpaid"
  | "not_configured"
  | "not_found"
  | "bad_request"
  | "context_exceeded"
  | "rate_limited"
  | "overloaded"
  | "unavailable"
  | "cut_off"
  | "too_long";

/** Details of a failure. */
export interface ModelErrorDetails extends ErrorOptions {
  readonly status?: number | undefined;
  /** How long the server asks to wait. */
  readonly retryAfterMs?: number | undefined;
  /** The limit that was exceeded. */
  readonly limit?: "tokens" | "requests" | undefined;
}

const RETRYABLE: ReadonlySet<ModelErrorCode> = new Set([
  "rate_limited",
  "overloaded",
  "unavailable",
  "cut_off",
]);

/** A failed request to a model. The message says what to do. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly code: ModelErrorCode;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly limit: "tokens" | "requests" | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    { status, retryAfterMs, limit, cause }: ModelErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.limit = limit;
  }

  /** Whether a retry may succeed. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}
