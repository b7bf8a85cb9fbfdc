import { canonicalJson } from "@reins/ledger";
import { type Action, blake3Hex } from "@reins/policy";
import type { ApprovalRequest } from "./request.ts";

/** What makes an action this one and no other. */
type Bound = Pick<ApprovalRequest, "subject" | "event_type" | "facts" | "cwd" | "target_state" | "quorum">;

/**
 * What an answer counts for. Two requests have the same binding when they come from the same agent of the same user in
 * the same session, would do the same in the same folder to the same files, and take as many people to agree; what the
 * agent says of it plays no part.
 */
export function bindingOf({ subject, event_type, facts, cwd, target_state, quorum }: Bound): string {
  const { tenant, user, agent, session } = subject;
  const bound = { tenant, user, agent, session, event_type, facts: foundOut(facts), cwd, target_state };
  return blake3Hex(canonicalJson({ ...bound, ...peopleNeeded(quorum) }));
}

/** How many people have to agree, where it takes more than one. */
export function peopleNeeded(quorum = 1): { readonly quorum?: number } {
  return quorum > 1 ? { quorum } : {};
}

/** The digest of an action as the harness found it out. */
export function factsHash(facts: Action): string {
  return blake3Hex(canonicalJson(foundOut(facts)));
}

function foundOut({ claims: _, ...facts }: Action): Omit<Action, "claims"> {
  return facts;
}
