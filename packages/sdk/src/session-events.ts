import {
  type AcpToolCall,
  blockText,
  type JsonObject,
  membersOf,
  type ReinsMeta,
  readUpdate,
  reinsMeta,
  toolCallIn,
  type UpdateOf,
  updateIn,
} from "@reins/acp";

/** What the policy decided about a tool call. */
export interface Verdict {
  /** `allowed`, `blocked`, `ask`, `defer` or `modify`. */
  readonly verdict: string;
  readonly rule: string | undefined;
  readonly reason: string | undefined;
  /** `performed`, `confined`, `asked` or `observed`. */
  readonly enforcement: string | undefined;
  /** The content id of the verdict in the ledger. */
  readonly entry: string | undefined;
  /** Whether the agent acted without asking, so that the verdict came after the act. */
  readonly ungated: boolean;
}

/** What happens in a session. `update` is the message of ACP as it was received, with all of its members. */
export type ConversationEvent =
  /** The beginning of a turn; `prompt` is the id of its {@link Turn}, if it has one. */
  | { readonly type: "prompt"; readonly text: string; readonly prompt?: string; readonly update: JsonObject }
  | { readonly type: "text"; readonly text: string; readonly update: JsonObject }
  | { readonly type: "thought"; readonly text: string; readonly update: JsonObject }
  /** A tool call, or what changed of one. */
  | {
      readonly type: "tool";
      readonly call: AcpToolCall;
      readonly verdict?: Verdict;
      readonly update: JsonObject;
    }
  | { readonly type: "plan"; readonly plan: UpdateOf<"plan">; readonly update: JsonObject }
  /** Any other update, also of a kind that this version does not know. */
  | { readonly type: "update"; readonly kind: string; readonly update: JsonObject }
  /** A turn of another client began or ended, or the state at the beginning; only with the option `turns`. */
  | { readonly type: "turn"; readonly state: "running" | "idle"; readonly stopReason: string | undefined }
  /** Messages that are no longer stored. */
  | { readonly type: "gap"; readonly reason: string }
  /** The session ended permanently. */
  | { readonly type: "session_ended" };

/** The event of a message about a session, with the session's id; undefined for messages about something else. */
export function eventIn({
  method,
  params,
}: JsonObject): { readonly sessionId: string; readonly event: ConversationEvent } | undefined {
  const { sessionId, kind, update } = updateIn(params);
  if (sessionId === undefined) return undefined;
  if (method === "session/update" && kind !== undefined) return { sessionId, event: eventOf(kind, update) };
  if (method === "_reins/session/turn") {
    const { state, stopReason } = membersOf(params);
    const reason = typeof stopReason === "string" ? stopReason : undefined;
    return {
      sessionId,
      event: { type: "turn", state: state === "running" ? "running" : "idle", stopReason: reason },
    };
  }
  if (method === "_reins/gap")
    return { sessionId, event: { type: "gap", reason: String(membersOf(params).reason) } };
  if (method === "_sandboxagent/session/ended") return { sessionId, event: { type: "session_ended" } };
  return undefined;
}

/** Reads an update. */
export function eventOf(kind: string, update: JsonObject): ConversationEvent {
  const text = blockText(update.content);
  switch (kind) {
    case "user_message_chunk": {
      const { prompt, steer } = reinsMeta(update);
      // It was sent into a turn, and begins none.
      if (steer) break;
      return { type: "prompt", text: text ?? "", ...(prompt !== undefined && { prompt }), update };
    }
    case "agent_message_chunk":
      if (text !== undefined) return { type: "text", text, update };
      break;
    case "agent_thought_chunk":
      if (text !== undefined) return { type: "thought", text, update };
      break;
    case "tool_call":
    case "tool_call_update": {
      const verdict = verdictOf(reinsMeta(update));
      return { type: "tool", call: toolCallIn(update), ...(verdict && { verdict }), update };
    }
    case "plan":
      return { type: "plan", plan: readUpdate("plan", update), update };
  }
  return { type: "update", kind, update };
}

function verdictOf({ verdict, rule, reason, enforcement, entry, ungated }: ReinsMeta): Verdict | undefined {
  if (verdict === undefined) return undefined;
  return { verdict, rule, reason, enforcement, entry, ungated: ungated ?? false };
}
