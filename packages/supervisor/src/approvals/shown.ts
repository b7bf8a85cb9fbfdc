import { type Answerer, isConcerned, mayAnswer } from "./answerer.ts";
import type { Approval, ApprovalChange } from "./approval.ts";
import { offeredPrefixes } from "./command-prefix.ts";

/** What others are shown of an approval: that an agent waits, and since when; not what for. */
export interface WithheldApproval
  extends Pick<Approval, "id" | "tenant" | "agent" | "state" | "created_at" | "expires_at"> {
  readonly withheld: true;
}

/** An approval with what the one who looks can allow always instead of exactly what is asked. */
export interface ShownApproval extends Approval {
  readonly prefixes?: readonly (readonly string[])[];
}

/** A step in the life of an approval, as others are told of it. */
export interface WithheldChange extends Pick<ApprovalChange, "seq" | "at"> {
  readonly approval: WithheldApproval;
}

/** An approval as a principal is shown it: whole, with what they may answer, or only that it is there. */
export function shownTo(answerer: Answerer, approval: Approval): ShownApproval | WithheldApproval {
  if (!isConcerned(answerer, approval)) return withheld(approval);
  if (approval.state !== "pending") return approval;
  const { options } = mayAnswer(answerer, approval);
  const prefixes =
    approval.command && options.includes("allow_always") ? offeredPrefixes(approval.command) : [];
  return { ...approval, options, ...(prefixes.length > 0 && { prefixes }) };
}

/** A change as a principal is told of it. */
export function changeShownTo(answerer: Answerer, change: ApprovalChange): ApprovalChange | WithheldChange {
  const approval = shownTo(answerer, change.approval);
  if (!("withheld" in approval)) return { ...change, approval };
  const { seq, at } = change;
  return { seq, at, approval };
}

/** An approval without anything that says what it is about. */
export function withheld(approval: Approval): WithheldApproval {
  const { id, tenant, agent, state, created_at, expires_at } = approval;
  return { id, tenant, agent, state, created_at, expires_at, withheld: true };
}
