import type { ConfirmationDecision, ConfirmationPayload } from "../events.ts";

/** Who is there to be asked. */
export interface Presence {
  /** Whether a person can answer. */
  readonly isPersonThere: boolean;
  /** Whether spending more is fine without asking. */
  readonly maySpend: boolean;
}

/** Somebody sits in front of it, and wants to be asked. */
export const PRESENCE: Presence = { isPersonThere: true, maySpend: false };

/** A person decides; where none is there, nothing is confirmed but cost that was allowed beforehand. */
export function decideConfirmation(
  { confirmation_type, message }: ConfirmationPayload,
  { isPersonThere, maySpend }: Presence,
): ConfirmationDecision {
  if (confirmation_type === "cost_confirm" && maySpend) return { decision: "approve" };
  if (isPersonThere) return { decision: "escalate" };
  return { decision: "reject", reason: `nobody is there to confirm it: ${message}` };
}
