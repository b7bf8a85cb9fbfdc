import type { AhpEvent } from "@reins/ahp";
import { type Draft, SYSTEM } from "@reins/ledger";
import type { Commitment } from "./commitment.ts";
import { agentName, sessionName } from "./session-name.ts";

const LONGEST_TOOL_NAME = 200;

/** What was decided about an event. */
export interface Verdict {
  readonly verdict: "blocked";
  readonly reason: string;
}

/** The entry for a verdict. Prompts and arguments may hold secrets, so it only commits to them. */
export function verdictDraft(event: AhpEvent, { verdict, reason }: Verdict, commitment: Commitment): Draft {
  const session = sessionName(event);
  const tool = toolIn(event);
  return {
    quality: "policy_verdict",
    actor: SYSTEM,
    entity_id: session,
    target: tool ?? session,
    tags: ["ahp"],
    payload: {
      verdict,
      reason,
      event_type: event.event_type,
      ...(tool !== undefined && { tool }),
      depth: event.depth,
      enforcement: "asked",
      payload_commitment: commitment.to(event.payload),
    },
  };
}

/** The entry for the begin or end of a session, by the agent's own word. */
export function sessionDraft(event: AhpEvent, commitment: Commitment): Draft {
  const session = sessionName(event);
  return {
    quality: "session_lifecycle",
    actor: agentName(event),
    entity_id: session,
    target: session,
    tags: ["ahp"],
    payload: {
      event: event.event_type,
      depth: event.depth,
      payload_commitment: commitment.to(event.payload),
    },
  };
}

/** The entry for the start or stop of the server itself. */
export function serverDraft(event: "server_start" | "server_stop", version: string): Draft {
  return {
    quality: "session_lifecycle",
    actor: SYSTEM,
    target: SYSTEM,
    tags: ["server"],
    payload: { event, version },
  };
}

function toolIn({ payload }: AhpEvent): string | undefined {
  if (typeof payload !== "object" || payload === null || !("tool_name" in payload)) return undefined;
  const { tool_name: name } = payload;
  return typeof name === "string" && name !== ""
    ? name.slice(0, LONGEST_TOOL_NAME).toWellFormed()
    : undefined;
}
