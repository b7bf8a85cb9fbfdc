import type { AhpEvent } from "@reins/ahp";

/**
 * An agent as it calls itself, in a form in which it can call itself neither by a name of ours, which all have a colon,
 * nor by one that runs into the session's.
 */
export function agentName({ agent_id }: Pick<AhpEvent, "agent_id">): string {
  return agent_id === "" ? "%" : agent_id.replace(/[%:]/g, encodeURIComponent);
}

/** The key of an AHP session in the ledger. */
export function sessionName(event: Pick<AhpEvent, "agent_id" | "session_id">): string {
  return `${agentName(event)}:ahp:${event.session_id}`;
}
