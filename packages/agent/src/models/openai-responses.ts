import { isObject, type JsonObject } from "@reins/acp";
import type OpenAI from "openai";
import { z } from "zod";
import type { AssistantPart, MediaPart, Message, TokenUsage, UserPart } from "../history/entry.ts";
import { type KnownModel, type Model, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
import { objectText } from "./openai-chat.ts";
import { effortOf, type OpenAiAccess, openAiModel, openAiUsage } from "./openai-client.ts";
import { modelErrorOf } from "./provider-api.ts";

type Response = OpenAI.Responses.Response;

/** A model behind OpenAI's Responses API. */
export function responsesModel(name: string, access: OpenAiAccess, known: KnownModel = {}): Model {
  const id = `openai:${name}`;
  return openAiModel(
    id,
    access,
    async (client, request, signal) =>
      readEvents(await client.responses.create(responsesRequest({ name, id }, request), { signal })),
    known,
    // The name and description of each deferred tool stay in its prompt, so it is used only where that is wanted.
    { toolSearch: "possible", toolSearchBy: "bm25" },
  );
}

async function* readEvents(
  events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
): AsyncIterable<ModelEvent> {
  let called = false;
  let search: OpenAI.Responses.ResponseToolSearchCall | undefined;
  for await (const event of events) {
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        yield { type: "text", text: event.delta };
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        yield { type: "thinking", text: event.delta };
        break;
      case "response.function_call_arguments.delta":
        yield { type: "progress" };
        break;
      case "response.output_item.done":
        if (event.item.type === "function_call") {
          const { call_id: id, name, arguments: given } = event.item;
          called = true;
          yield { type: "call", id, name, arguments: given === "" ? "{}" : given };
        }
        if (event.item.type === "reasoning") yield thoughtOf(event.item);
        if (event.item.type === "tool_search_call") search = event.item;
        if (event.item.type === "tool_search_output" && search) yield searched(search, event.item);
        break;
      case "response.completed":
        yield* endOf(event.response, called ? "tool_use" : "end");
        return;
      case "response.incomplete":
        yield* endOf(event.response, stopOf(event.response));
        return;
      case "response.failed":
        throw failureOf(event.response);
      case "error":
        throw failure(event.message, event.code);
    }
  }
  throw new ModelError("cut_off", "the answer was cut off");
}

function thoughtOf({ id, encrypted_content }: OpenAI.Responses.ResponseReasoningItem): ModelEvent {
  return { type: "thinking_end", ...(encrypted_content && { seal: { id, encrypted_content } }) };
}

/** A search that the API did. */
function searched(
  call: OpenAI.Responses.ResponseToolSearchCall,
  output: OpenAI.Responses.ResponseToolSearchOutputItem,
): ModelEvent {
  const found = output.tools.flatMap((tool) => (tool.type === "function" ? [tool.name] : []));
  return { type: "search", query: queryIn(call.arguments), found, seal: { search: { call, output } } };
}

/** What a search is for; the API documents no form of its arguments. */
function queryIn(given: unknown): string {
  if (typeof given === "string") return given;
  if (isObject(given) && typeof given.query === "string") return given.query;
  return JSON.stringify(given) ?? "";
}

function* endOf(
  { usage }: Response,
  stop: "end" | "tool_use" | "max_tokens" | "refusal",
): Iterable<ModelEvent> {
  if (usage) yield { type: "usage", usage: usageFrom(usage) };
  yield { type: "end", stop };
}

function stopOf({ incomplete_details }: Response): "max_tokens" | "refusal" {
  return incomplete_details?.reason === "content_filter" ? "refusal" : "max_tokens";
}

function failureOf({ error }: Response): ModelError {
  return failure(error?.message ?? "it failed without a reason", error?.code);
}

/** Maps a failure in the middle of a stream by its message and type. */
function failure(message: string, type: string | null | undefined): ModelError {
  return modelErrorOf(Object.assign(new Error(message), { type }), "the model");
}

function usageFrom(reported: OpenAI.Responses.ResponseUsage): TokenUsage {
  return openAiUsage({
    input: reported.input_tokens,
    output: reported.output_tokens,
    cached: reported.input_tokens_details?.cached_tokens,
    cacheWritten: reported.input_tokens_details?.cache_write_tokens,
    thought: reported.output_tokens_details?.reasoning_tokens,
  });
}

type Item = OpenAI.Responses.ResponseInputItem;

/** Builds a request for OpenAI's Responses API. The server stores nothing. */
function responsesRequest(
  model: { readonly name: string; readonly id: string },
  { system, messages, tools, thoughtLevel, toolSearch }: ModelRequest,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const thinks = thoughtLevel !== "default" && thoughtLevel !== "off";
  return {
    model: model.name,
    stream: true,
    store: false,
    instructions: system,
    input: messages.flatMap((message) => itemsOf(message, model.id)),
    ...(tools.length > 0 && {
      tools: [
        ...(toolSearch === undefined ? [] : [{ type: "tool_search" as const }]),
        ...tools.map(({ name, description, parameters, isDeferred }) => ({
          ...{ type: "function" as const, strict: false, name, description, parameters },
          ...(isDeferred && { defer_loading: true }),
        })),
      ],
    }),
    ...(thoughtLevel !== "default" && {
      reasoning: { effort: effortOf(thoughtLevel), ...(thinks && { summary: "auto" as const }) },
    }),
    ...(thinks && { include: ["reasoning.encrypted_content" as const] }),
  };
}

function itemsOf(message: Message, id: string): Item[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: message.parts.map(contentOf) }];
    case "assistant":
      return message.parts.flatMap((part) => assistantItem(part, id));
    case "tool":
      return message.results.map(({ call, text, media = [] }) => ({
        type: "function_call_output",
        call_id: call,
        output: media.length === 0 ? text : [{ type: "input_text", text }, ...media.map(mediaContent)],
      }));
  }
}

function mediaContent({
  mimeType,
  data,
}: MediaPart): OpenAI.Responses.ResponseInputImageContent | OpenAI.Responses.ResponseInputFileContent {
  const url = `data:${mimeType};base64,${data}`;
  if (mimeType === "application/pdf") return { type: "input_file", filename: "document.pdf", file_data: url };
  return { type: "input_image", detail: "auto", image_url: url };
}

function contentOf(part: UserPart): OpenAI.Responses.ResponseInputContent {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", detail: "auto", image_url: `data:${part.mimeType};base64,${part.data}` };
}

function assistantItem(part: AssistantPart, id: string): Item[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ role: "assistant", content: part.text }];
    case "call":
      return [
        { type: "function_call", call_id: part.id, name: part.name, arguments: objectText(part.arguments) },
      ];
    case "thinking":
      return part.seal?.model === id ? sealedItems(part.text, part.seal.data) : [];
  }
}

/** What is returned of a search that the API did. */
const Searched = z.object({
  call: z.looseObject({ type: z.literal("tool_search_call"), arguments: z.unknown() }),
  output: z.looseObject({
    type: z.literal("tool_search_output"),
    tools: z.array(
      z.looseObject({
        type: z.literal("function"),
        name: z.string(),
        parameters: z.record(z.string(), z.unknown()).nullable(),
        strict: z.boolean().nullable(),
      }),
    ),
  }),
});

/** Thoughts and searches are returned unchanged or not at all. */
function sealedItems(text: string, data: JsonObject): Item[] {
  const { data: search } = Searched.safeParse(data.search);
  return search ? [search.call, search.output] : reasoningItem(text, data);
}

function reasoningItem(text: string, { id, encrypted_content }: JsonObject): Item[] {
  if (typeof id !== "string" || typeof encrypted_content !== "string") return [];
  const summary = text === "" ? [] : [{ type: "summary_text" as const, text }];
  return [{ type: "reasoning", id, encrypted_content, summary }];
}
