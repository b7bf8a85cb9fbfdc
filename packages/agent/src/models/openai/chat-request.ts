import type OpenAI from "openai";
import { isObject } from "../../acp/message.ts";
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
    messages: [{ role: "system", content: system }, ...alternating(messages.flatMap(paramsOf))],
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({ type: "function" as const, function: { ...tool } })),
    }),
    ...(thoughtLevel !== "default" && { reasoning_effort: effortOf(thoughtLevel) }),
  };
}

/** Joins what the user's side says in several messages: the templates of many models refuse two in a row. */
function alternating(params: readonly Param[]): Param[] {
  const joined: Param[] = [];
  for (const param of params) {
    const last = joined.at(-1);
    if (param.role === "user" && last?.role === "user")
      joined[joined.length - 1] = { role: "user", content: [...contentsOf(last), ...contentsOf(param)] };
    else joined.push(param);
  }
  return joined.map(plain);
}

function contentsOf({ content }: OpenAI.ChatCompletionUserMessageParam): OpenAI.ChatCompletionContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Text alone goes as a string: not every server knows lists. */
function plain(param: Param): Param {
  if (param.role !== "user" || typeof param.content === "string") return param;
  const texts = param.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length < param.content.length ? param : { role: "user", content: texts.join("\n\n") };
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

/** Arguments as they were if they are an object; strict servers refuse a conversation that holds broken ones. */
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
