import { isRecord } from "@reins/kit";
import {
  argumentNames,
  type ConversationItem,
  contentText,
  listMember,
  member,
  type OfferedTool,
  textMember,
} from "./conversation.ts";
import {
  argumentText,
  type Dialect,
  halves,
  type SpokenPart,
  type StopEnding,
  serverEvent,
  USAGE,
} from "./dialect.ts";

const ROUTE = /\/models\/([^/:]+):(\w+)$/;

/** Google's Gemini API. */
export const gemini: Dialect = {
  name: "gemini",
  answers: (path) => /^(?:stream)?generateContent$/i.test(methodOf(path)),
  aside: (path) => (methodOf(path) === "countTokens" ? { totalTokens: USAGE.input } : undefined),
  read: (path, body) => ({
    dialect: "gemini",
    model: ROUTE.exec(path)?.[1] ?? "",
    streamed: methodOf(path) === "streamGenerateContent",
    system: contentText(member(member(body, "systemInstruction"), "parts")),
    items: listMember(body, "contents").flatMap(itemsOf),
    tools: listMember(body, "tools").flatMap((group) =>
      listMember(group, "functionDeclarations").map(toolOf),
    ),
  }),
  voice({ model }, id) {
    const chunk = (parts: readonly object[], finish?: string) =>
      serverEvent(answer(model, id, parts, finish));
    return {
      begin: () => [],
      part: (part) => spoken(part).map((each) => chunk([each])),
      // Calls are never split here: what can break off is the event itself.
      half: (part) => spoken(part).map((each) => brokenOff(chunk([each]), part)),
      end: (ending) => [chunk([{ text: "" }], finishReason(ending))],
    };
  },
  whole: ({ model }, id, parts, ending) =>
    answer(model, id, parts.map(wholeOf).flatMap(spoken), finishReason(ending)),
  error: (status, message) => ({ error: { code: status, message, status: statusName(status) } }),
};

function methodOf(path: string): string {
  return ROUTE.exec(path)?.[2] ?? "";
}

function itemsOf(said: unknown): ConversationItem[] {
  const parts = listMember(said, "parts");
  const text = contentText(parts.filter((part) => member(part, "thought") !== true));
  if (textMember(said, "role") === "model") {
    const calls = parts.map((part) => member(part, "functionCall")).filter(isRecord);
    return [{ role: "assistant", text, calls: calls.map((each) => textMember(each, "name")) }];
  }
  const results = parts.map((part) => member(part, "functionResponse")).filter(isRecord);
  return [
    ...results.map(
      (result): ConversationItem => ({
        role: "tool",
        call: textMember(result, "id"),
        text: JSON.stringify(result.response ?? null),
      }),
    ),
    ...(text === "" ? [] : [{ role: "user" as const, text }]),
  ];
}

function toolOf(tool: unknown): OfferedTool {
  const schema = member(tool, "parametersJsonSchema") ?? member(tool, "parameters");
  return { name: textMember(tool, "name"), freeform: false, ...argumentNames(schema) };
}

function answer(model: string, id: string, parts: readonly object[], finishReason?: string): object {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...(finishReason && { finishReason }) }],
    usageMetadata: {
      promptTokenCount: USAGE.input,
      candidatesTokenCount: USAGE.output,
      totalTokenCount: USAGE.input + USAGE.output,
    },
    modelVersion: model,
    responseId: id,
  };
}

function spoken(part: SpokenPart): readonly object[] {
  if (part.kind === "call") {
    const functionCall = { id: part.id, name: part.tool, args: part.arguments };
    return [{ functionCall, thoughtSignature: "c2NyaXB0" }];
  }
  const thought = part.kind === "thinking";
  return part.pieces.map((text) => ({ text, ...(thought && { thought }) }));
}

function wholeOf(part: SpokenPart): SpokenPart {
  return part.kind === "call" ? part : { ...part, pieces: [part.pieces.join("")] };
}

function brokenOff(text: string, part: SpokenPart): string {
  const given = part.kind === "call" ? argumentText(part.arguments) : "";
  return text.slice(0, text.indexOf(given) + halves(given)[0].length);
}

function finishReason(ending: StopEnding): string {
  return ending === "length" ? "MAX_TOKENS" : "STOP";
}

function statusName(status: number): string {
  if (status === 401) return "UNAUTHENTICATED";
  if (status === 403) return "PERMISSION_DENIED";
  if (status === 404) return "NOT_FOUND";
  if (status === 429) return "RESOURCE_EXHAUSTED";
  return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
}
