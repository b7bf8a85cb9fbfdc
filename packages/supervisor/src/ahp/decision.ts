import type { Decision } from "@reins/ahp";
import { escalationTarget } from "../approvals/query.ts";
import type { Decided } from "../decision/decided.ts";

/** A verdict in the words of AHP. What only Reins knows goes along as metadata. */
export function asDecision(decided: Decided): Decision {
  const { verdict, reason, approval, enforcement, entry, rule } = decided;
  const metadata = {
    enforcement,
    ...(entry !== undefined && { entry }),
    ...(rule !== undefined && { rule }),
  };
  switch (verdict) {
    case "allowed":
      return { decision: "allow", metadata: { ...metadata, reason } };
    case "blocked":
      return { decision: "block", reason, metadata };
    case "ask":
      return {
        decision: "escalate",
        reason,
        ...(approval !== undefined && { escalation_target: escalationTarget({ id: approval }) }),
      };
    case "defer":
      return { decision: "defer", retry_after_ms: decided.retry_after_ms ?? 60_000, reason };
    case "modify":
      return {
        decision: "modify",
        modified_payload: decided.modified_arguments,
        metadata: { ...metadata, reason },
      };
  }
}
