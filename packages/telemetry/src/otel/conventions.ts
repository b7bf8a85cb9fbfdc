import {
  type Attributes,
  type Context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
} from "@opentelemetry/api";
import { isRecord } from "@reins/kit";
import type { RequestTokens } from "@reins/supervisor";

/** The bounds of histograms; of tokens and operations as the conventions advise, times in seconds. */
export const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, power) => 4 ** power);
export const DURATION_BOUNDS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
export const DECISION_BOUNDS = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
export const WAIT_BOUNDS = [1, 5, 15, 60, 300, 900, 3_600, 86_400];

/** The operations of an agent, as attributes of spans and metrics. */
export const INVOKE_AGENT = { "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "reins" };
export const EXECUTE_TOOL = { "gen_ai.operation.name": "execute_tool" };
export const CHAT = { "gen_ai.operation.name": "chat" };

/** A model that a request asks. */
export interface RequestedModel {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens?: unknown;
  /** Who named it: the agent that asks, or the gateway that sees the call. */
  readonly by: "agent" | "gateway";
}

/** Providers that the conventions know by another name. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([["gemini", "gcp.gemini"]]);

/** The model of a request: as an agent names it, `provider:model`, or of a call through the gateway. */
export function requestedModel(payload: Readonly<Record<string, unknown>>): RequestedModel | undefined {
  const { model: id, tool_name: tool, arguments: given } = payload;
  if (typeof id === "string") {
    const [provider = "", ...name] = id.split(":");
    const model = name.length === 0 ? id : name.join(":");
    return { provider: PROVIDERS.get(provider) ?? provider, model, by: "agent" };
  }
  if (tool !== "model/call" || !isRecord(given)) return undefined;
  const { provider, model, max_tokens: maxTokens } = given;
  if (typeof provider !== "string" || typeof model !== "string") return undefined;
  return { provider: PROVIDERS.get(provider) ?? provider, model, maxTokens, by: "gateway" };
}

/** The longest text in a span. */
const MOST_TEXT = 256;
/** The longest text that is checked for secrets: more than is kept, so that none is cut in half. */
const MOST_CHECKED = 16 * MOST_TEXT;

/** Removes secrets from the texts of attributes, and shortens them. */
export function cleaned(attributes: Attributes, redact: (text: string) => unknown): Attributes {
  const clean = Object.entries(attributes).map(([name, value]) => {
    if (typeof value !== "string") return [name, value];
    return [name, String(redact(value.slice(0, MOST_CHECKED))).slice(0, MOST_TEXT)];
  });
  return Object.fromEntries(clean);
}

/** An attribute where there is a value. */
export function present(name: string, value: unknown): Attributes {
  return typeof value === "string" || typeof value === "number" ? { [name]: value } : {};
}

/** All input tokens of a request, cached ones included. */
export function inputOf({ inputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 }: RequestTokens): number {
  return inputTokens + cachedReadTokens + cachedWriteTokens;
}

/** What a request used, as attributes of its span. */
export function tokenAttributes(tokens: RequestTokens | undefined): Attributes {
  if (!tokens) return {};
  return {
    "gen_ai.usage.input_tokens": inputOf(tokens),
    "gen_ai.usage.output_tokens": tokens.outputTokens,
    ...present("gen_ai.usage.cache_read.input_tokens", tokens.cachedReadTokens),
    ...present("gen_ai.usage.cache_creation.input_tokens", tokens.cachedWriteTokens),
    ...present("gen_ai.usage.reasoning.output_tokens", tokens.thoughtTokens),
  };
}

/** A version of W3C Trace Context, its trace, the span that goes on here, and flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.{0,256})?$/;

/** The longest `tracestate` that is passed on. */
const MOST_STATE = 512;

/**
 * The trace that a client continues, by the `_meta` of its prompt; none where that is not well-formed. A `tracestate` with
 * secrets is left out.
 */
export function continued(meta: unknown, redact: (text: string) => unknown): Context | undefined {
  const { traceparent, tracestate } = isRecord(meta) ? meta : {};
  const [, traceId, spanId, flags] = (typeof traceparent === "string" && TRACEPARENT.exec(traceparent)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const isKept =
    typeof tracestate === "string" && tracestate.length <= MOST_STATE && redact(tracestate) === tracestate;
  const traceState = isKept ? createTraceState(tracestate) : undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  if (!isSpanContextValid(context)) return undefined;
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, ...(traceState && { traceState }) });
}
