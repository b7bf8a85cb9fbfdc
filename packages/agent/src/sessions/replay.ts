import { isObject, type JsonObject } from "../acp/message.ts";
import type { HistoryEntry } from "../history/entry.ts";
import type { AssistantPart, CallPart, ToolResult, UserPart } from "../history/part.ts";
import { interruptedTurns } from "../history/transcript.ts";
import type { Tool } from "../tools/tool.ts";

/** A history as the updates that a client once saw. What was withdrawn, or added for the model, is left out. */
export function* replay(entries: readonly HistoryEntry[], tools: readonly Tool[]): Iterable<JsonObject> {
  const withdrawn = new Set(entries.filter(({ kind }) => kind === "withdrawn").map(({ turn }) => turn));
  const results = new Map(
    entries.flatMap((entry) =>
      entry.kind === "results" ? entry.results.map((one) => [one.call, one] as const) : [],
    ),
  );
  for (const entry of entries) {
    if (withdrawn.has(entry.turn)) continue;
    if (entry.kind === "user") yield* entry.parts.flatMap((part) => userUpdate(part, entry.turn));
    if (entry.kind === "assistant")
      yield* entry.parts.flatMap((part) => assistantUpdate(part, entry.id, results, tools));
  }
  if (interruptedTurns(entries).has(entries.at(-1)?.turn ?? ""))
    yield thought("[The last turn was interrupted. What it had begun may or may not have been done.]");
}

function userUpdate(part: UserPart, messageId: string): JsonObject[] {
  if (part.type === "text" && part.context) return [];
  return [{ sessionUpdate: "user_message_chunk", content: part, messageId }];
}

function assistantUpdate(
  part: AssistantPart,
  messageId: string,
  results: ReadonlyMap<string, ToolResult>,
  tools: readonly Tool[],
): JsonObject[] {
  switch (part.type) {
    case "text":
      return [
        { sessionUpdate: "agent_message_chunk", content: { type: "text", text: part.text }, messageId },
      ];
    case "thinking":
      return part.text === "" ? [] : [{ ...thought(part.text), messageId }];
    case "call":
      return callUpdate(part, results.get(part.id), tools);
  }
}

function callUpdate(part: CallPart, result: ToolResult | undefined, tools: readonly Tool[]): JsonObject[] {
  const tool = tools.find(({ name }) => name === part.name);
  if (tool?.isInner) return [];
  const rawInput = parsed(part.arguments);
  const text = result?.text ?? "Whether it was done is unknown.";
  return [
    {
      sessionUpdate: "tool_call",
      toolCallId: part.toolCallId,
      title: titleOf(part, rawInput, tool),
      name: part.name,
      kind: tool?.kind ?? "other",
      status: result && !result.isError ? "completed" : "failed",
      rawInput,
      content: [{ type: "content", content: { type: "text", text } }],
    },
  ];
}

function titleOf({ name }: CallPart, rawInput: JsonObject, tool: Tool | undefined): string {
  try {
    return tool?.call(rawInput).title ?? name;
  } catch {
    // It never fitted; its name will do.
    return name;
  }
}

function parsed(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function thought(text: string): JsonObject {
  return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } };
}
