import { isRecord, sseText } from "@reins/kit";
import {
  argumentNames,
  argumentText,
  type Conversation,
  type ConversationItem,
  contentText,
  type Dialect,
  errorKind,
  halves,
  listMember,
  member,
  type OfferedTool,
  type SpokenPart,
  textMember,
  toolResult,
  USAGE,
  userText,
} from "./dialect.ts";

const ROUTE = /\/models\/([^/:]+):(\w+)$/;

/** Google's Gemini API. */
export const gemini: Dialect = {
  name: "gemini",
  answers: (path) => /^(?:stream)?generateContent$/i.test(methodOf(path)),
  aside: (path) => (methodOf(path) === "countTokens" ? { totalTokens: USAGE.input } : undefined),
  read: (path, body) => ({
    model: ROUTE.exec(path)?.[1] ?? "",
    streamed: methodOf(path) === "streamGenerateContent",
    system: contentText(member(member(body, "systemInstruction"), "parts")),
    items: listMember(body, "contents").flatMap(itemsOf),
    tools: listMember(body, "tools").flatMap((group) =>
      listMember(group, "functionDeclarations").map(toolOf),
    ),
  }),
  voice(conversation, id) {
    const chunk = (parts: readonly object[], finish?: string) =>
      sseText({ json: answer(conversation, id, parts, finish) });
    return {
      begin: () => [],
      part: (part) => spoken(part).map((each) => chunk([each])),
      // Calls are never split here: what can break off is the event itself.
      half: (part) => spoken(part).map((each) => brokenOff(chunk([each]), part)),
      end: (ending) => [chunk([{ text: "" }], STOP[ending])],
    };
  },
  whole: (conversation, id, parts, ending) =>
    answer(conversation, id, parts.map(wholeOf).flatMap(spoken), STOP[ending]),
  error: (status, message) => ({ error: { code: status, message, status: errorKind(status)[1] } }),
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
  const returned = results.map((result) =>
    toolResult(textMember(result, "id"), JSON.stringify(result.response ?? null)),
  );
  return [...returned, ...userText(text)];
}

function toolOf(tool: unknown): OfferedTool {
  const schema = member(tool, "parametersJsonSchema") ?? member(tool, "parameters");
  return { name: textMember(tool, "name"), freeform: false, ...argumentNames(schema) };
}

function answer(
  { model, usage: { input, output } }: Pick<Conversation, "model" | "usage">,
  id: string,
  parts: readonly object[],
  finishReason?: string,
): object {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...(finishReason && { finishReason }) }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
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

const STOP = { length: "MAX_TOKENS", end: "STOP" };
