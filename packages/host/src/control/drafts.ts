import type { Draft } from "@reins/ledger";
import { type Subject, sessionKey } from "@reins/supervisor";
import type { ToolCall } from "../governor/tool-calls.ts";
import type { Turn } from "../governor/turn.ts";

/** The entry for a tool call that begins, with what the agent says of it. */
export function toolCallDraft(
  subject: Subject,
  call: Pick<ToolCall, "id" | "told">,
  { tool, verdict }: { readonly tool: string; readonly verdict: string | undefined },
): Draft {
  const { title, kind, rawInput } = call.told;
  return {
    quality: "tool_call",
    actor: subject.agent,
    target: tool,
    entity_id: sessionKey(subject),
    tags: [`call:${call.id}`],
    payload: {
      tool,
      call: call.id,
      verdict: verdict ?? null,
      claims: { title: title ?? null, kind: kind ?? null },
      arguments: rawInput ?? null,
    },
  };
}

/** How a turn ended. */
interface TurnEnd {
  readonly stop_reason: string;
  readonly completed_at: string;
  readonly usage: Readonly<Record<string, unknown>>;
}

/** The entry for a turn, which names the entries it covers. */
export function turnDraft(
  subject: Subject,
  turn: Turn,
  { stop_reason, completed_at, usage }: TurnEnd,
): Draft {
  return {
    quality: "turn",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [`turn:${turn.id}`, stop_reason],
    // In the order in which they are recorded, by name.
    payload: {
      actor: subject.agent,
      completed_at,
      entries: turn.entries,
      ...turn.hashes,
      started_at: turn.started,
      stop_reason,
      timestamp: turn.started,
      turn: turn.id,
      usage,
    },
  };
}

const RUN_ENDS: ReadonlyMap<string, "failed" | "cancelled"> = new Map([
  ["cancelled", "cancelled"],
  ["refusal", "failed"],
  ["error", "failed"],
  ["interrupted", "failed"],
]);

/** The status of a run whose turn ended so. */
export function runEnd(stop_reason: string): "completed" | "failed" | "cancelled" {
  return RUN_ENDS.get(stop_reason) ?? "completed";
}
