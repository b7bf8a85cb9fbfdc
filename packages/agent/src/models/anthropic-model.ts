import type Anthropic from "@anthropic-ai/sdk";
import { isObject, parseObject } from "@reins/acp";
import type { TokenUsage } from "../history/entry.ts";
import { anthropicRequest } from "./anthropic-request.ts";
import {
  type KnownModel,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelInfo,
  type ModelStop,
} from "./model.ts";
import { CallArguments, providerModel } from "./provider-api.ts";
import { NO_USAGE, reportedTokens } from "./tokens.ts";

/** Access to Anthropic or a compatible server. */
export interface AnthropicAccess {
  readonly apiKey?: string | undefined;
  readonly authToken?: string | undefined;
  readonly baseUrl?: string | undefined;
}

const STOPS: ReadonlyMap<string, ModelStop> = new Map<string, ModelStop>([
  ["end_turn", "end"],
  ["stop_sequence", "end"],
  ["tool_use", "tool_use"],
  ["max_tokens", "max_tokens"],
  ["refusal", "refusal"],
  ["pause_turn", "paused"],
  ["model_context_window_exceeded", "context_exceeded"],
]);

/** A model behind Anthropic's Messages API. */
export function anthropicModel(model: string, access: AnthropicAccess, known: KnownModel = {}): Model {
  const { thinking, ...guessed } = knownAnthropic(model);
  const { contextTokens = guessed.contextTokens, maxOutputTokens = guessed.maxOutputTokens } = known;
  const id = `anthropic:${model}`;
  const toolSearch = toolSearchOf(model, access);
  const info = {
    id,
    contextTokens,
    maxOutputTokens,
    images: known.images ?? true,
    summarises: true,
    toolSearch,
  };
  let client: Promise<Anthropic> | undefined;
  return providerModel(info, async (request, signal) => {
    client ??= clientFor(access);
    const sent = anthropicRequest(request, { model, id, maxOutputTokens, thinking });
    return readEvents(await (await client).messages.create(sent, { signal }));
  });
}

/** Loads the SDK on the first request, because loading takes a while. */
async function clientFor({ apiKey, authToken, baseUrl }: AnthropicAccess): Promise<Anthropic> {
  const { default: Client } = await import("@anthropic-ai/sdk");
  return new Client({
    ...(authToken === undefined ? { apiKey: apiKey ?? "" } : { apiKey: null, authToken }),
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    maxRetries: 0,
    logLevel: "off",
  });
}

interface OpenBlock {
  readonly block: Anthropic.RawContentBlockStartEvent["content_block"];
  readonly json: CallArguments;
  signature: string;
}

async function* readEvents(
  events: AsyncIterable<Anthropic.RawMessageStreamEvent>,
): AsyncIterable<ModelEvent> {
  const open = new Map<number, OpenBlock>();
  const searches = new Map<string, OpenBlock>();
  let usage = NO_USAGE;
  let stop: ModelStop = "end";
  for await (const event of events) {
    switch (event.type) {
      case "message_start":
        usage = usageFrom(event.message.usage, usage);
        break;
      case "content_block_start":
        open.set(event.index, { block: event.content_block, json: new CallArguments(), signature: "" });
        if (event.content_block.type === "text" && event.content_block.text !== "")
          yield { type: "text", text: event.content_block.text };
        break;
      case "content_block_delta":
        yield* readDelta(event.delta, open.get(event.index));
        break;
      case "content_block_stop":
        yield* closeBlock(open.get(event.index), searches);
        open.delete(event.index);
        break;
      case "message_delta":
        usage = usageFrom(event.usage, usage);
        stop = STOPS.get(event.delta.stop_reason ?? "") ?? "end";
        break;
      case "message_stop":
        yield { type: "usage", usage };
        yield { type: "end", stop };
        return;
    }
  }
  throw new ModelError("cut_off", "the answer was cut off");
}

function* readDelta(
  delta: Anthropic.RawContentBlockDelta,
  block: OpenBlock | undefined,
): Iterable<ModelEvent> {
  switch (delta.type) {
    case "text_delta":
      yield { type: "text", text: delta.text };
      break;
    case "thinking_delta":
      yield { type: "thinking", text: delta.thinking };
      break;
    case "input_json_delta":
      block?.json.add(delta.partial_json);
      yield { type: "progress" };
      break;
    case "signature_delta":
      if (block) block.signature += delta.signature;
      break;
  }
}

function* closeBlock(open: OpenBlock | undefined, searches: Map<string, OpenBlock>): Iterable<ModelEvent> {
  if (open?.block.type === "server_tool_use") searches.set(open.block.id, open);
  if (open?.block.type === "tool_search_tool_result")
    yield* searched(searches.get(open.block.tool_use_id), open.block);
  if (open?.block.type === "tool_use") {
    const { id, name, input } = open.block;
    yield { type: "call", id, name, arguments: String(open.json) || JSON.stringify(input ?? {}) };
  }
  if (open?.block.type === "thinking")
    yield { type: "thinking_end", seal: { signature: open.signature || open.block.signature } };
  if (open?.block.type === "redacted_thinking")
    yield { type: "thinking_end", seal: { data: open.block.data } };
}

/** A search that the API did. One that failed is the API's to report to the model. */
function* searched(
  asked: OpenBlock | undefined,
  { tool_use_id, content }: Anthropic.ToolSearchToolResultBlock,
): Iterable<ModelEvent> {
  if (asked?.block.type !== "server_tool_use" || content.type !== "tool_search_tool_search_result") return;
  const { id, name, input: given } = asked.block;
  const input = String(asked.json) === "" ? given : parseObject(String(asked.json));
  const { query, pattern } = isObject(input) ? input : {};
  const found = content.tool_references.map(({ tool_name }) => tool_name);
  const result = { type: "tool_search_tool_result", tool_use_id, content };
  const seal = { search: { use: { type: "server_tool_use", id, name, input }, result } };
  yield { type: "search", query: String(query ?? pattern ?? ""), found, seal };
}

function usageFrom(
  reported: Partial<Anthropic.Usage | Anthropic.MessageDeltaUsage>,
  known: TokenUsage,
): TokenUsage {
  const thoughtTokens = reportedTokens(reported.output_tokens_details?.thinking_tokens, known.thoughtTokens);
  const cachedReadTokens = reportedTokens(reported.cache_read_input_tokens, known.cachedReadTokens);
  const cachedWriteTokens = reportedTokens(reported.cache_creation_input_tokens, known.cachedWriteTokens);
  return {
    inputTokens: reportedTokens(reported.input_tokens, known.inputTokens),
    outputTokens: reportedTokens(reported.output_tokens, known.outputTokens),
    ...(thoughtTokens > 0 && { thoughtTokens }),
    ...(cachedReadTokens > 0 && { cachedReadTokens }),
    ...(cachedWriteTokens > 0 && { cachedWriteTokens }),
  };
}

/** Models of Anthropic's own API search; what is behind another address may not. */
function toolSearchOf(model: string, { baseUrl }: AnthropicAccess): ModelInfo["toolSearch"] {
  if (!/^claude-(?:haiku|sonnet|opus)-(?:4-5|[5-9])/.test(model)) return "possible";
  return baseUrl === undefined ? "always" : "possible";
}

/** How a model is configured to think: by effort, by a token budget, or not at all. */
export type ThinkingStyle = "adaptive" | "budget" | "none";

/** What is known of a family of models. */
interface ModelFamily {
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly thinking: ThinkingStyle;
}

export const DEFAULT_ANTHROPIC_MODEL = "claude-sonnet-5-5";

/** The models that are offered when there is a key. */
export const OFFERED_ANTHROPIC_MODELS: readonly string[] = [
  "claude-sonnet-5-5",
  "claude-opus-5-5",
  "claude-haiku-5-5",
];

const KNOWN: readonly (readonly [RegExp, ModelFamily])[] = [
  [
    /^claude-(?:haiku|sonnet|opus)-4-5/,
    { contextTokens: 200_000, maxOutputTokens: 32_000, thinking: "budget" },
  ],
  [/^claude-3/, { contextTokens: 200_000, maxOutputTokens: 8_192, thinking: "none" }],
  [/^claude-/, { contextTokens: 200_000, maxOutputTokens: 32_000, thinking: "adaptive" }],
];

/** The limits of a model by its name; safe values for an unknown one. */
function knownAnthropic(model: string): ModelFamily {
  const found = KNOWN.find(([name]) => name.test(model))?.[1];
  return found ?? { contextTokens: 128_000, maxOutputTokens: 8_192, thinking: "none" };
}
