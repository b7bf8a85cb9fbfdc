import { type Draft, SYSTEM } from "@reins/ledger";
import type { Action, Enforcement, SimpleCommand } from "@reins/policy";
import type { Change } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { sessionKey } from "../record/record.ts";
import type { Grant } from "./grants.ts";

/** Where an approval stands. `pending` and `approved` are open; the others are final. */
export const APPROVAL_STATES = ["pending", "approved", "denied", "expired", "withdrawn", "used"] as const;

export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** What a person may say. */
export const APPROVAL_OPTIONS = ["allow_once", "allow_always", "deny"] as const;

export type ApprovalOption = (typeof APPROVAL_OPTIONS)[number];

/** What one person said. */
export interface ApprovalAnswer {
  readonly by: string;
  readonly decision: ApprovalOption;
  readonly note?: string;
  readonly at: string;
  /** How long they meant an "always" to last at most, where they said so. */
  readonly grant_expires_ms?: number;
  /** The beginning of the command that they meant an "always" for, where it is not exactly what was asked. */
  readonly prefix?: readonly string[];
}

/** A question to people about one action, and what became of it. */
export interface Approval {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
  /** The agents between the one the user started and the one that asks, outermost first. */
  readonly chain: readonly string[];
  readonly session: string;
  /** The key under which the session's entries are chained, where it is hosted here. */
  readonly session_key?: string;
  /** The turn that waits for it, if it is known. */
  readonly turn?: string;
  readonly event_type: string;
  readonly tool: string;
  /** What the action is: exactly while it waits for an answer, without its secrets afterwards. */
  readonly facts: Action;
  readonly enforcement: Enforcement;
  /** What an answer counts for: 64 hexadecimal digits over everything that makes this action this one. */
  readonly binding: string;
  readonly cwd: string;
  /** What the files that the action would change are now: path to digest, or "absent". */
  readonly target_state: Readonly<Record<string, string>>;
  /** What the files are now that are run, read by a build tool, or sent: path to digest. */
  readonly input_state?: Readonly<Record<string, string>>;
  /** The words of a single plain command, of which the beginning can be allowed always. */
  readonly command?: SimpleCommand;
  /** The rule that asks, and why, in words. */
  readonly rule?: string;
  readonly reason: string;
  readonly options: readonly ApprovalOption[];
  /** How many people must agree. */
  readonly quorum: number;
  /** The roles that may answer, where the rule names them. */
  readonly approvers?: readonly string[];
  /** Whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean;
  readonly answers: readonly ApprovalAnswer[];
  readonly state: ApprovalState;
  readonly created_at: string;
  /** When the question, or an unused yes, ends. */
  readonly expires_at: string;
  /** The content id of the ledger entry that asked. */
  readonly entry: string;
  /** Why what it asks cannot be shown exactly any more, where that is so; it can only be denied then. */
  readonly unreadable?: string;
}

/** One step in the life of an approval, as it was committed. */
export interface ApprovalChange {
  /** Grows with every change of any approval. */
  readonly seq: number;
  readonly at: string;
  /** The content id of the ledger entry that records the step. */
  readonly entry: string;
  /** The approval as the step left it. */
  readonly approval: Approval;
}

/** Whether something may still become of an approval. */
export function isOpen({ state }: Pick<Approval, "state">): boolean {
  return state === "pending" || state === "approved";
}

/** Whether an approval has outlived its time at an instant. */
export function isOver({ expires_at }: Pick<Approval, "expires_at">, now: Date): boolean {
  return Date.parse(expires_at) <= now.getTime();
}

/**
 * The tag of every entry about an approval. The verdict that uses one carries it too: without it, the use is refused,
 * because the record would not show it.
 */
export function approvalTag(id: string): string {
  return `approval:${id}`;
}

/** The tag of every entry about a grant. */
export function grantTag(id: string): string {
  return `grant:${id}`;
}

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

/** Where an approval stands and who brought it there, in words. */
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
