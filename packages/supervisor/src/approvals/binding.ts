import { canonicalJson } from "@reins/ledger";
import type { Action, Subject } from "@reins/policy";
import type { Commitment } from "../record/commitment.ts";
import type { ApprovalRequest } from "./request.ts";

/** What makes an action this one and no other. */
type Bound = Pick<ApprovalRequest, "event_type" | "facts" | "cwd" | "target_state" | "quorum"> & {
  readonly subject: Pick<Subject, "tenant" | "user" | "agent" | "session">;
};

/** Digests with the key of a home, so that nobody can try on a digest what may be behind it. */
export type Keyed = Pick<Commitment, "digest">;

/**
 * What an answer counts for. Two requests have the same binding when they come from the same agent of the same user in
 * the same session, would do the same in the same folder to the same files, and take as many people to agree; what the
 * agent says of it plays no part.
 */
export function bindingOf(
  { subject, event_type, facts, cwd, target_state, quorum }: Bound,
  keyed: Keyed,
): string {
  const { tenant, user, agent, session } = subject;
  const bound = { tenant, user, agent, session, event_type, facts: foundOut(facts), cwd, target_state };
  return keyed.digest("approval", canonicalJson({ ...bound, ...peopleNeeded(quorum) }));
}

/** How many people have to agree, where it takes more than one. */
export function peopleNeeded(quorum = 1): { readonly quorum?: number } {
  return quorum > 1 ? { quorum } : {};
}

/** The digest of an action as the harness found it out. */
export function factsHash(facts: Action, keyed: Keyed): string {
  return keyed.digest("facts", canonicalJson(foundOut(facts)));
}

function foundOut({ claims: _, ...facts }: Action): Omit<Action, "claims"> {
  return facts;
}
