import type { JsonObject } from "../acp/json-rpc.ts";
import type { TokenUsage } from "../history/entry.ts";
import type { Message } from "../history/transcript.ts";

/** How much a model is to think before it speaks; `default` leaves it to the model. */
export type ThoughtLevel = "default" | "off" | "low" | "medium" | "high";

/** A tool that a model may call. */
interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** What it takes, as a JSON Schema. */
  readonly parameters: JsonObject;
}

/** What a model is told. */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly thoughtLevel: ThoughtLevel;
}

/** Why a model stopped. */
export type ModelStop =
  | "end"
  | "tool_use"
  | "max_tokens"
  | "refusal"
  /** It took a break of its own and goes on when asked again. */
  | "paused"
  /** The conversation no longer fits. */
  | "context_exceeded";

/** What comes back, piece by piece. */
export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  /** A thought is over; the seal is what this model needs to be given back. */
  | { readonly type: "thinking_end"; readonly seal?: JsonObject }
  /** A whole call; one that was cut off never comes. */
  | { readonly type: "call"; readonly id: string; readonly name: string; readonly arguments: string }
  /** Something came that says nothing by itself, such as a piece of a call: the model is still at it. */
  | { readonly type: "progress" }
  /** What the request has used so far. */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  /** Always last; an answer without it was cut off. */
  | { readonly type: "end"; readonly stop: ModelStop };

/** What a model costs: dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Of input that was read from a cache, and of input that was put into one; as other input where it is not given. */
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

/** What is known of a model. */
export interface ModelInfo {
  /** How it is chosen, such as `anthropic:claude-sonnet-5-5`. */
  readonly id: string;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** Whether it can see images. */
  readonly images: boolean;
  /** Whether it can put a conversation into its own words. */
  readonly summarises: boolean;
  /** Absent where the operator has not said it: then no limit in money counts what it uses. */
  readonly price?: Price | undefined;
}

/** A model, wherever it runs. Every failure is a {@link ModelError}; aborting ends the stream with the signal's reason. */
export interface Model {
  readonly info: ModelInfo;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** What can be wrong with a model, in one word. */
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

/** What may be known of a failure. */
export interface ModelErrorDetails extends ErrorOptions {
  readonly status?: number | undefined;
  /** How long the other side wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** Which limit was hit, where one was. */
  readonly limit?: "tokens" | "requests" | undefined;
}

const RETRYABLE: ReadonlySet<ModelErrorCode> = new Set([
  "rate_limited",
  "overloaded",
  "unavailable",
  "cut_off",
]);

/** A model that did not answer, why, and what to do. */
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

  /** Whether the same request may work later. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}
