import type OpenAI from "openai";
import type { UserPart } from "../../history/part.ts";
import { textOf } from "../../history/part.ts";
import type { Message } from "../../history/transcript.ts";
import type { ModelRequest } from "../model.ts";
import { effortOf } from "./effort.ts";

type Param = OpenAI.ChatCompletionMessageParam;

/** A request in the words of OpenAI's Chat Completions, which most other servers understand. */
export function chatRequest(
  model: string,
  { system, messages, tools, thoughtLevel }: ModelRequest,
): OpenAI.ChatCompletionCreateParamsStreaming {
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "system", content: system }, ...messages.flatMap(paramsOf)],
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({ type: "function" as const, function: { ...tool } })),
    }),
    ...(thoughtLevel !== "default" && { reasoning_effort: effortOf(thoughtLevel) }),
  };
}

function paramsOf(message: Message): Param[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.parts.map(contentOf) }];
    case "assistant":
      return assistantParam(message);
    case "tool":
      return message.results.map(({ call, text }) => ({ role: "tool", tool_call_id: call, content: text }));
  }
}

function assistantParam({ parts }: Extract<Message, { role: "assistant" }>): Param[] {
  const text = textOf(parts);
  const calls = parts.flatMap((part) =>
    part.type === "call"
      ? [{ id: part.id, type: "function" as const, function: { name: part.name, arguments: part.arguments } }]
      : [],
  );
  if (text === "" && calls.length === 0) return [];
  return [
    { role: "assistant", content: text === "" ? null : text, ...(calls.length > 0 && { tool_calls: calls }) },
  ];
}

function contentOf(part: UserPart): OpenAI.ChatCompletionContentPart {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
}
