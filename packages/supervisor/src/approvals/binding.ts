import { exactJson } from "@reins/ledger";
import { type Action, type Subject, tellingArguments } from "@reins/policy";
import type { Commitment } from "../record/commitment.ts";
import type { ApprovalRequest } from "./request.ts";

/** What makes an action this one and no other. */
type Bound = Pick<
  ApprovalRequest,
  "event_type" | "facts" | "cwd" | "target_state" | "input_state" | keyof People
> & {
  readonly subject: Pick<Subject, "tenant" | "user" | "agent" | "session">;
};

/** Whose agreement a question takes. */
type People = Pick<ApprovalRequest, "quorum" | "approvers" | "four_eyes">;

/** Digests with the key of a home, so that nobody can try on a digest what may be behind it. */
export type Keyed = Pick<Commitment, "digest">;

/**
 * What an answer counts for. Two requests have the same binding when they come from the same agent of the same user in
 * the same session, would do the same in the same folder to the same files, run and send the same content, and take the
 * same people to agree; what the agent says of it, in arguments that only describe too, plays no part.
 */
export function bindingOf(request: Bound, keyed: Keyed): string {
  const { subject, event_type, cwd, target_state, input_state = {} } = request;
  const facts = { ...foundOut(request.facts), arguments: tellingArguments(request.facts) };
  const inputs = Object.keys(input_state).length > 0 ? { input_state } : {};
  const { tenant, user, agent, session } = subject;
  const bound = { tenant, user, agent, session, event_type, facts, cwd, target_state, ...inputs };
  return keyed.digest("approval", exactJson({ ...bound, ...peopleNeeded(request) }));
}

/** Whose agreement it takes, as far as that is not what it is by default. */
export function peopleNeeded({ quorum = 1, approvers, four_eyes }: People): People {
  return {
    ...(quorum > 1 && { quorum }),
    ...(approvers && { approvers: approvers.toSorted() }),
    ...(four_eyes && { four_eyes }),
  };
}

/** The digest of an action as the harness found it out. */
export function factsHash(facts: Action, keyed: Keyed): string {
  return keyed.digest("facts", exactJson(foundOut(facts)));
}

function foundOut({ claims: _, ...facts }: Action): Omit<Action, "claims"> {
  return facts;
}
