import { type Draft, SYSTEM } from "@reins/ledger";
import type { Change } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { sessionKey } from "../record/record.ts";
import { type Approval, type ApprovalAnswer, approvalTag, grantTag, isOver } from "./approval.ts";
import type { Grant } from "./grants.ts";

const MAX_NOTE = 4_096;

/**
 * An approval after a person's answer. One no is enough; a yes needs as many people as the quorum says, each of whom
 * counts once. Throws where the answer comes too late, comes again or was not on offer.
 */
export function answered<Answered extends Omit<Approval, "entry">>(
  approval: Answered,
  answer: ApprovalAnswer,
): Answered {
  const { id, answers, options, quorum } = approval;
  if (approval.state !== "pending") throw new SupervisorError("conflict", `${standing(approval)}`);
  if (isOver(approval, new Date(answer.at)))
    throw new SupervisorError("conflict", `the approval ${id} expired at ${approval.expires_at}`);
  const earlier = answers.find(({ by }) => by === answer.by);
  if (earlier) throw new SupervisorError("conflict", `the approval ${id} waits for others: ${said(earlier)}`);
  if (!options.includes(answer.decision))
    throw new SupervisorError("invalid", `the approval ${id} takes ${options.join(", ")} as an answer`);
  checkNote(answer.note);
  checkSpan(answer.grant_expires_ms);
  const all = [...answers, answer];
  const agreed = all.length >= quorum ? "approved" : "pending";
  return { ...approval, answers: all, state: answer.decision === "deny" ? "denied" : agreed };
}

/** Whether those who agreed all meant it for always; one who did not makes it once. */
export function isForAlways({ state, answers }: Pick<Approval, "state" | "answers">): boolean {
  return state === "approved" && answers.every(({ decision }) => decision === "allow_always");
}

/** The state of an approval and who brought it there, in words. */
export function standing({ id, state, answers }: Pick<Approval, "id" | "state" | "answers">): string {
  const words = answers.length > 0 ? `: ${answers.map(said).join("; ")}` : "";
  return `the approval ${id} is ${state} already${words}`;
}

function said({ by, decision, at }: ApprovalAnswer): string {
  return `${by} said ${decision} at ${at}`;
}

function checkNote(note: string | undefined): void {
  if (note === undefined || (note.length <= MAX_NOTE && note.isWellFormed())) return;
  throw new SupervisorError("invalid", `a note is text of at most ${MAX_NOTE} characters`);
}

function checkSpan(milliseconds: number | undefined): void {
  if (milliseconds === undefined || milliseconds > 0) return;
  throw new SupervisorError("invalid", `a grant stands for a while, not for ${milliseconds} ms`);
}

/** What people have settled about an action. */
export interface Settled {
  readonly verdict: "allowed" | "blocked";
  readonly reason: string;
  readonly approval?: Approval;
  readonly grant?: Grant;
  /** For `allowed`: to be committed with the verdict. */
  readonly change?: Change<undefined>;
}

/**
 * What an answer or a grant says. A yes counts until it is used or over. A no counts for the turn that asked, and
 * where turns are not known until the question would have expired, so that asking again at once changes nothing.
 */
export function settledBy(
  approval: Approval | undefined,
  grant: Grant | undefined,
  turn: string | undefined,
  now: Date,
): Omit<Settled, "change"> | undefined {
  const counts = approval !== undefined && !isOver(approval, now);
  if (counts && approval.state === "approved")
    return { verdict: "allowed", reason: `approved by ${named(approval.answers)}`, approval };
  if (counts && approval.state === "denied" && (turn === undefined || turn === approval.turn))
    return { verdict: "blocked", reason: denial(approval), approval };
  if (grant)
    return { verdict: "allowed", reason: `always allowed by ${grant.by.join(", ")} (${grant.id})`, grant };
  return undefined;
}

function named(answers: Approval["answers"]): string {
  return answers.map(({ by }) => by).join(", ");
}

function denial({ answers }: Approval): string {
  const no = answers.find(({ decision }) => decision === "deny");
  return `denied by ${no?.by}${no?.note === undefined ? "" : `: ${no.note}`}`;
}

/** What is recorded when a question is put. */
export function askedDraft(approval: Omit<Approval, "entry">, facts_hash: string): Draft {
  const { user, agent, chain, session, turn, event_type, tool, enforcement, rule } = approval;
  return draftOf(approval, SYSTEM, {
    facts_hash,
    user,
    agent,
    chain,
    session,
    ...(turn !== undefined && { turn }),
    event_type,
    tool,
    enforcement,
    ...(rule !== undefined && { rule }),
    reason: approval.reason,
    options: approval.options,
    quorum: approval.quorum,
    ...(approval.approvers && { approvers: approval.approvers }),
    ...(approval.four_eyes && { four_eyes: true }),
    ...(approval.asked_by !== undefined && { asked_by: approval.asked_by }),
    expires_at: approval.expires_at,
  });
}

/** What is recorded, and signed by the person, when they answered. `approval` is as the answer left it. */
export function answeredDraft(
  approval: Approval,
  answer: ApprovalAnswer,
  { facts_hash, grant }: { readonly facts_hash: string | undefined; readonly grant: Grant | undefined },
): Draft {
  const details = {
    ...(facts_hash !== undefined && { facts_hash }),
    answer: { ...answer },
    ...(grant && {
      grant: {
        ...{ id: grant.id, binding: grant.binding, expires_at: grant.expires_at ?? null },
        ...(grant.prefix && { prefix: grant.prefix }),
      },
    }),
  };
  const draft = draftOf(approval, answer.by, details);
  return grant ? { ...draft, tags: [...(draft.tags ?? []), grantTag(grant.id)] } : draft;
}

/** What is recorded when an approval ends without being used. */
export function endedDraft(approval: Approval, reason: string): Draft {
  return draftOf(approval, SYSTEM, { reason });
}

/** What is recorded, and signed by the person, when a grant is taken back. */
export function revokedDraft(grant: Grant, by: string, reason: string): Draft {
  return {
    quality: "approval",
    actor: by,
    target: grant.tool,
    tags: ["grant", grantTag(grant.id)],
    payload: {
      grant: grant.id,
      state: "revoked",
      tenant: grant.tenant,
      binding: grant.binding,
      reason,
    },
  };
}

function draftOf(approval: Omit<Approval, "entry">, actor: string, details: object): Draft {
  const { id, state, tenant, binding, tool } = approval;
  return {
    quality: "approval",
    actor,
    target: tool,
    entity_id: sessionKey(approval),
    tags: ["approval", approvalTag(id)],
    payload: { approval: id, state, tenant, binding, ...details },
  };
}
