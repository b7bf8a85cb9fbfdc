import { isObject } from "@reins/acp";
import type OpenAI from "openai";
import {
  type Message,
  partsText,
  type TokenUsage,
  type ToolResult,
  type UserPart,
} from "../history/entry.ts";
import {
  type KnownModel,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelStop,
} from "./model.ts";
import { effortOf, type OpenAiAccess, openAiModel, openAiUsage } from "./openai-client.ts";
import { CallArguments } from "./provider-api.ts";
import { NO_USAGE } from "./tokens.ts";

const STOPS: ReadonlyMap<string, ModelStop> = new Map<string, ModelStop>([
  ["stop", "end"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

/** A model behind OpenAI's Chat Completions API, on any server. */
export function chatModel(model: string, access: OpenAiAccess, known: KnownModel = {}): Model {
  const takesPdf = known.pdf ?? (access.baseUrl === undefined || OPENAI.test(access.baseUrl));
  return openAiModel(
    `openai-chat:${model}`,
    access,
    async (client, request, signal) => {
      const asked = chatRequest(model, request, takesPdf);
      return readChunks(await client.chat.completions.create(asked, { signal }));
    },
    known,
  );
}

/** OpenAI's own server, which takes PDF. Others may refuse every request of a conversation with one. */
const OPENAI = /^https:\/\/api\.openai\.com(?:[:/]|$)/;

interface OpenCall {
  readonly index: number;
  id: string;
  name: string;
  readonly arguments: CallArguments;
}

const MOST_CALLS = 1_000;

async function* readChunks(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): AsyncIterable<ModelEvent> {
  const calls: OpenCall[] = [];
  let finish: string | undefined;
  let usage = NO_USAGE;
  for await (const { choices, usage: reported } of chunks) {
    if (reported) usage = usageFrom(reported);
    // Some servers leave out required members.
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
  // The last fragment of a call is not marked; only the end of the stream says that it is complete.
  if (finish === undefined) throw new ModelError("cut_off", "the answer was cut off");
  for (const call of calls)
    yield { type: "call", id: call.id, name: call.name, arguments: String(call.arguments) || "{}" };
  yield { type: "usage", usage };
  yield {
    type: "end",
    stop: calls.length > 0 && finish === "stop" ? "tool_use" : (STOPS.get(finish) ?? "end"),
  };
}

/** Collects fragments of calls. Servers number calls differently or not at all: another id starts another call. */
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

/** Servers stream reasoning under names of their own. */
function thoughtIn(delta: object): string {
  const found = ["reasoning_content", "reasoning"].map((name) => Reflect.get(delta, name));
  return found.find((text) => typeof text === "string") ?? "";
}

function usageFrom(reported: OpenAI.CompletionUsage): TokenUsage {
  return openAiUsage({
    input: reported.prompt_tokens,
    output: reported.completion_tokens,
    cached: reported.prompt_tokens_details?.cached_tokens,
    cacheWritten: reported.prompt_tokens_details?.cache_write_tokens,
    thought: reported.completion_tokens_details?.reasoning_tokens,
  });
}

type Param = OpenAI.ChatCompletionMessageParam;

/** Builds a request for OpenAI's Chat Completions, which most other servers support. */
export function chatRequest(
  model: string,
  { system, messages, tools, thoughtLevel }: ModelRequest,
  takesPdf = false,
): OpenAI.ChatCompletionCreateParamsStreaming {
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: system },
      ...alternating(messages.flatMap((message) => paramsOf(message, takesPdf))),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        function: { name, description, parameters },
      })),
    }),
    ...(thoughtLevel !== "default" && { reasoning_effort: effortOf(thoughtLevel) }),
  };
}

/** What stands between results and a message of the user that follows them. */
const RESULTS_READ = "I have read the results.";

/**
 * Has user and assistant take turns, as the templates of many models require: joins consecutive messages of one of them,
 * and lets the assistant speak between the results of its calls and the user.
 */
function alternating(params: readonly Param[]): Param[] {
  const joined: Param[] = [];
  for (const param of params) {
    const last = joined.at(-1);
    if (param.role === "user" && last?.role === "user")
      joined[joined.length - 1] = { role: "user", content: [...contentsOf(last), ...contentsOf(param)] };
    else if (param.role === "assistant" && last?.role === "assistant" && !last.tool_calls) {
      const texts = [last, param].flatMap(({ content }) => (typeof content === "string" ? [content] : []));
      joined[joined.length - 1] = { ...param, content: texts.join("\n\n") };
    } else if (param.role === "user" && last?.role === "tool")
      joined.push({ role: "assistant", content: RESULTS_READ }, param);
    else joined.push(param);
  }
  return joined.map(plain);
}

function contentsOf({ content }: OpenAI.ChatCompletionUserMessageParam): OpenAI.ChatCompletionContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Sends text alone as a string: not every server supports lists. */
function plain(param: Param): Param {
  if (param.role !== "user" || typeof param.content === "string") return param;
  const texts = param.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length < param.content.length ? param : { role: "user", content: texts.join("\n\n") };
}

function paramsOf(message: Message, takesPdf: boolean): Param[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.parts.map(contentOf) }];
    case "assistant":
      return assistantParam(message);
    case "tool":
      return [
        ...message.results.map(
          ({ call, text }): Param => ({ role: "tool", tool_call_id: call, content: text }),
        ),
        ...shown(message.results, takesPdf),
      ];
  }
}

/** What tools found that is not text: results hold text alone here, so images and PDF follow in a message of the user. */
function shown(results: readonly ToolResult[], takesPdf: boolean): Param[] {
  const partOf = (mimeType: string, data: string): OpenAI.ChatCompletionContentPart => {
    const url = `data:${mimeType};base64,${data}`;
    if (mimeType !== "application/pdf") return { type: "image_url", image_url: { url } };
    return takesPdf
      ? { type: "file", file: { filename: "document.pdf", file_data: url } }
      : { type: "text", text: NO_PDF };
  };
  const content = results.flatMap(({ media = [], text }) =>
    media.flatMap(({ mimeType, data }): OpenAI.ChatCompletionContentPart[] => [
      { type: "text", text },
      partOf(mimeType, data),
    ]),
  );
  return content.length === 0 ? [] : [{ role: "user", content }];
}

const NO_PDF =
  "[the server of this model gets no PDF; its text may be had by a command such as: pdftotext -layout <file> -]";

function assistantParam({ parts }: Extract<Message, { role: "assistant" }>): Param[] {
  const text = partsText(parts);
  const calls = parts.flatMap((part) =>
    part.type === "call"
      ? [
          {
            id: part.id,
            type: "function" as const,
            function: { name: part.name, arguments: objectText(part.arguments) },
          },
        ]
      : [],
  );
  if (text === "" && calls.length === 0) return [];
  return [
    { role: "assistant", content: text === "" ? null : text, ...(calls.length > 0 && { tool_calls: calls }) },
  ];
}

/** The arguments, or an empty object if they are none: strict servers reject a conversation with invalid ones. */
export function objectText(json: string): string {
  try {
    return isObject(JSON.parse(json)) ? json : "{}";
  } catch {
    return "{}";
  }
}

function contentOf(part: UserPart): OpenAI.ChatCompletionContentPart {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
}
