import type { Action, Enforcement, SimpleCommand } from "@reins/policy";

/** The state of an approval. `pending` and `approved` are open; the others are final. */
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
  /** The user who prompted the turn, where it is not the one for whom the agent acts. */
  readonly asked_by?: string;
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

/** The state of a delivery: to be tried, or given up. One that arrived is forgotten. */
export type DeliveryState = "waiting" | "dead";

/** A change on its way to a webhook. */
export interface Delivery {
  /** The same for every attempt, so that a receiver recognizes it. */
  readonly id: number;
  readonly webhook: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** When it is tried next. */
  readonly due_at: string;
  /** Why the last attempt failed. */
  readonly error?: string;
  /** The approval in it is without its secrets: what is sent leaves the machine, and stays where it arrives. */
  readonly change: ApprovalChange;
}
