import type OpenAI from "openai";
import type { TokenUsage } from "../../history/entry.ts";
import { modelErrorOf } from "../api-error.ts";
import { CallArguments } from "../call-arguments.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest, ModelStop } from "../model.ts";
import { ModelError } from "../model-error.ts";
import { toldTokens } from "../tokens.ts";
import { chatRequest } from "./chat-request.ts";
import { clientFor, type OpenAiAccess } from "./client.ts";
import { knownContext } from "./known-models.ts";

const STOPS: Readonly<Record<string, ModelStop | undefined>> = {
  stop: "end",
  tool_calls: "tool_use",
  function_call: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
};

/** A model that is spoken to by OpenAI's Chat Completions API, wherever it is served. */
export class ChatModel implements Model {
  readonly info: ModelInfo;
  readonly #model: string;
  readonly #access: OpenAiAccess;
  #client: Promise<OpenAI> | undefined;

  constructor(model: string, access: OpenAiAccess) {
    const contextTokens = knownContext(model);
    this.info = {
      id: `openai-chat:${model}`,
      contextTokens,
      maxOutputTokens: Math.floor(contextTokens / 8),
      images: true,
      summarises: true,
    };
    this.#model = model;
    this.#access = access;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    try {
      this.#client ??= clientFor(this.#access);
      const client = await this.#client;
      const chunks = await client.chat.completions.create(chatRequest(this.#model, request), { signal });
      yield* readChunks(chunks);
    } catch (error) {
      signal.throwIfAborted();
      throw modelErrorOf(error, this.info.id);
    }
    // An aborted stream ends as if nothing had happened.
    signal.throwIfAborted();
  }
}

interface OpenCall {
  readonly index: number;
  id: string;
  name: string;
  readonly arguments: CallArguments;
}

/** More calls than this are none that anybody would make. */
const MOST_CALLS = 1_000;

async function* readChunks(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): AsyncIterable<ModelEvent> {
  const calls: OpenCall[] = [];
  let finish: string | undefined;
  let usage: TokenUsage = { inputTokens: 0, outputTokens: 0 };
  for await (const { choices, usage: told } of chunks) {
    if (told) usage = usageFrom(told);
    // Servers of all kinds speak this; some leave out what has to be there.
    const [choice] = choices ?? [];
    if (!choice) continue;
    const { delta = {}, finish_reason } = choice;
    const thought = thoughtIn(delta);
    if (thought !== "") yield { type: "thinking", text: thought };
    if (delta.content) yield { type: "text", text: delta.content };
    if (delta.refusal) yield { type: "text", text: delta.refusal };
    for (const piece of delta.tool_calls ?? []) {
      collect(calls, piece);
      yield { type: "progress" };
    }
    finish = finish_reason ?? finish;
  }
  // The last piece of a call is not marked; only the end of the answer says that it is whole.
  if (finish === undefined) throw new ModelError("cut_off", "the answer broke off in the middle");
  for (const call of calls)
    yield { type: "call", id: call.id, name: call.name, arguments: String(call.arguments) || "{}" };
  yield { type: "usage", usage };
  yield { type: "end", stop: calls.length > 0 && finish === "stop" ? "tool_use" : (STOPS[finish] ?? "end") };
}

/** Servers count calls as they like, or not at all: one that begins with another id is another call. */
function collect(
  calls: OpenCall[],
  { index, id, function: called }: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall,
): void {
  const open = calls.findLast((one) => one.index === index);
  const isAnother = open !== undefined && Boolean(id && called?.name) && open.id !== id;
  const call =
    open && !isAnother
      ? open
      : { index, id: `call_${calls.length}`, name: "", arguments: new CallArguments() };
  if (id) call.id = id;
  if (called?.name) call.name += called.name;
  if (called?.arguments) call.arguments.add(called.arguments);
  if (call === open) return;
  calls.push(call);
  if (calls.length > MOST_CALLS)
    throw new ModelError("too_long", `the model made more than ${MOST_CALLS} calls at once`);
}

/** Other servers show what a model thinks under names of their own. */
function thoughtIn(delta: object): string {
  const found = ["reasoning_content", "reasoning"].map((name) => Reflect.get(delta, name));
  return found.find((text) => typeof text === "string") ?? "";
}

function usageFrom({
  prompt_tokens,
  completion_tokens,
  prompt_tokens_details,
  completion_tokens_details,
}: OpenAI.CompletionUsage): TokenUsage {
  const cachedReadTokens = toldTokens(prompt_tokens_details?.cached_tokens);
  const thoughtTokens = toldTokens(completion_tokens_details?.reasoning_tokens);
  return {
    inputTokens: Math.max(0, toldTokens(prompt_tokens) - cachedReadTokens),
    outputTokens: toldTokens(completion_tokens),
    ...(cachedReadTokens > 0 && { cachedReadTokens }),
    ...(thoughtTokens > 0 && { thoughtTokens }),
  };
}
