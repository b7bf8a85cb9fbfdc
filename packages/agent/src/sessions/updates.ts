import type { JsonObject } from "../acp/message.ts";
import type { TurnEvent } from "../turn/turn-event.ts";

/** What a client wants to hear about. */
export interface ClientWishes {
  readonly notices: boolean;
  readonly compaction: boolean;
}

/** How an event of a turn is told to a client: as a `session/update`, or not at all. */
export function updateFor(event: TurnEvent, { notices, compaction }: ClientWishes): JsonObject | undefined {
  switch (event.type) {
    case "text":
      return chunk("agent_message_chunk", event.text, event.messageId);
    case "thought":
      return chunk("agent_thought_chunk", event.text, event.messageId);
    case "call": {
      const { locations, content, ...call } = event.call;
      return {
        sessionUpdate: "tool_call",
        ...call,
        status: "pending",
        ...(locations.length > 0 && { locations: locations.map((path) => ({ path })) }),
        ...(content.length > 0 && { content }),
      };
    }
    case "call_update": {
      const { type: _, ...rest } = event;
      return { sessionUpdate: "tool_call_update", ...rest };
    }
    case "worker":
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
      // A client that knows no notices is told by a thought, so that nothing goes by unseen.
      return notices ? { sessionUpdate: "notice", ...notice } : thought(notice.title, notice.description);
    }
  }
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
  if (status === "completed") return thought("The conversation was put into a summary to make room.");
  return status === "failed" ? thought("The conversation could not be put into a summary", error) : undefined;
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
