import { type JsonObject, parseObject } from "@reins/acp";
import {
  type AssistantPart,
  type CallPart,
  type HistoryEntry,
  interruptedTurns,
  type ToolResult,
  type UserPart,
} from "../history/entry.ts";
import type { Tool } from "../tools/tool.ts";
import { SEARCH_TOOL } from "../tools/tool-search.ts";
import type { DisplayedCall, TurnEvent } from "../turn/turn-event.ts";

/** What a client can display. */
export interface ClientCapabilities {
  readonly notices: boolean;
  readonly compaction: boolean;
  /** Whether it answers the methods of the bridge. */
  readonly bridge: boolean;
  /** Whether it puts questions to a person. */
  readonly questions: boolean;
}

/** Converts an event of a turn to a `session/update`; `undefined` for none. */
export function updateFor(
  event: TurnEvent,
  { notices, compaction }: ClientCapabilities,
): JsonObject | undefined {
  switch (event.type) {
    case "text":
      return chunk("agent_message_chunk", event.text, event.messageId);
    case "thought":
      return chunk("agent_thought_chunk", event.text, event.messageId);
    case "call":
      return { sessionUpdate: "tool_call", ...pendingCall(event.call) };
    case "call_update": {
      const { type: _, ...rest } = event;
      return { sessionUpdate: "tool_call_update", ...rest };
    }
    case "worker":
    case "skill":
    case "tool_search":
      return { ...event.update };
    case "plan":
      return { sessionUpdate: "plan", entries: event.entries };
    case "usage":
      return {
        sessionUpdate: "usage_update",
        used: event.used,
        size: event.size,
        ...(event.cost !== undefined && { cost: { amount: event.cost, currency: "USD" } }),
      };
    case "compaction":
      return compaction ? compactionUpdate(event) : compactionThought(event);
    case "notice": {
      const { type: _, ...notice } = event;
      // A client without notices gets a thought, so that no notice is lost.
      return notices ? { sessionUpdate: "notice", ...notice } : thought(notice.title, notice.description);
    }
  }
}

/** A call that waits for permission, in ACP's form. */
export function pendingCall({ locations, content, ...call }: DisplayedCall): JsonObject {
  return {
    ...call,
    status: "pending",
    ...(locations.length > 0 && { locations: locations.map((path) => ({ path })) }),
    ...(content.length > 0 && { content }),
  };
}

function compactionUpdate({
  id,
  status,
  summary,
  error,
}: Extract<TurnEvent, { type: "compaction" }>): JsonObject {
  return {
    sessionUpdate: "compaction_update",
    compactionId: id,
    status,
    ...(summary !== undefined && { summary: [{ type: "text", text: summary }] }),
    ...(error !== undefined && { error }),
  };
}

function compactionThought({
  status,
  error,
}: Extract<TurnEvent, { type: "compaction" }>): JsonObject | undefined {
  if (status === "completed") return thought("The conversation was compacted to make room.");
  return status === "failed" ? thought("The conversation could not be compacted", error) : undefined;
}

function thought(title: string, description?: string): JsonObject {
  return chunk(
    "agent_thought_chunk",
    `[${description === undefined ? title : `${title}: ${description}`}]\n`,
  );
}

function chunk(sessionUpdate: string, text: string, messageId?: string): JsonObject {
  return { sessionUpdate, content: { type: "text", text }, ...(messageId !== undefined && { messageId }) };
}

/** Converts a history to the updates that a client once received. Withdrawn turns and added context are left out. */
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
    yield chunk(
      "agent_thought_chunk",
      "[The last turn was interrupted. What it had begun may or may not have been done.]",
    );
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
      return [chunk("agent_message_chunk", part.text, messageId)];
    case "thinking":
      return part.text === "" ? [] : [chunk("agent_thought_chunk", part.text, messageId)];
    case "call":
      return callUpdate(part, results.get(part.id), tools);
  }
}

function callUpdate(part: CallPart, result: ToolResult | undefined, tools: readonly Tool[]): JsonObject[] {
  const tool = tools.find(({ name }) => name === part.name);
  if (tool?.isInner || part.name === SEARCH_TOOL) return [];
  const rawInput = parseObject(part.arguments);
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
    // The arguments were invalid.
    return name;
  }
}
