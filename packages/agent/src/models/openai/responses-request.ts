import type OpenAI from "openai";
import type { JsonObject } from "../../acp/message.ts";
import type { AssistantPart, UserPart } from "../../history/part.ts";
import type { Message } from "../../history/transcript.ts";
import type { ModelRequest } from "../model.ts";
import { objectText } from "./chat-request.ts";
import { effortOf } from "./effort.ts";

type Item = OpenAI.Responses.ResponseInputItem;

/** A request in the words of OpenAI's Responses API. Nothing is kept on the other side. */
export function responsesRequest(
  model: { readonly name: string; readonly id: string },
  { system, messages, tools, thoughtLevel }: ModelRequest,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const thinks = thoughtLevel !== "default" && thoughtLevel !== "off";
  return {
    model: model.name,
    stream: true,
    store: false,
    instructions: system,
    input: messages.flatMap((message) => itemsOf(message, model.id)),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({ type: "function" as const, strict: false, ...tool })),
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
      return message.results.map(({ call, text }) => ({
        type: "function_call_output",
        call_id: call,
        output: text,
      }));
  }
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
      return part.seal?.model === id ? reasoningItem(part.text, part.seal.data) : [];
  }
}

function reasoningItem(text: string, { id, encrypted_content }: JsonObject): Item[] {
  if (typeof id !== "string" || typeof encrypted_content !== "string") return [];
  const summary = text === "" ? [] : [{ type: "summary_text" as const, text }];
  return [{ type: "reasoning", id, encrypted_content, summary }];
}
