import type { Action, SimpleCommand, Subject } from "@reins/policy";
import { SupervisorError } from "../supervisor-error.ts";
import { APPROVAL_OPTIONS, type Approval, type ApprovalOption } from "./approval.ts";
import { isGrantable } from "./grant-binding.ts";

/** A question that the harness wants answered. */
export interface ApprovalRequest {
  /** Who asks, on whose behalf. */
  readonly subject: Subject;
  readonly event_type: string;
  readonly facts: Action;
  readonly cwd: string;
  readonly target_state: Readonly<Record<string, string>>;
  /** What the files are now that are run, read by a build tool, or sent. */
  readonly input_state?: Readonly<Record<string, string>> | undefined;
  /** The words of the action, where it is a single plain command. */
  readonly command?: SimpleCommand | undefined;
  readonly turn?: string | undefined;
  readonly rule?: string | undefined;
  readonly reason: string;
  /** By default all of them; "always" only for what can be granted narrowly, and no at any rate. */
  readonly options?: readonly ApprovalOption[] | undefined;
  /** By default one person is enough. */
  readonly quorum?: number | undefined;
  /** The roles that may answer; by default the user who asks, and approvers. */
  readonly approvers?: readonly string[] | undefined;
  /** Whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean | undefined;
  /** How long the question stands; by default a day, at most a year. */
  readonly expires_ms?: number | undefined;
}

const DAY_MS = 86_400_000;
const LONGEST_MS = 365 * DAY_MS;
const MAX_QUORUM = 100;
/** No person reads more than this, and a question nobody can read is no question. */
const MAX_TEXT = 1_048_576;

/** The approval that a request asks for; only its ledger entry is missing. */
export function newApproval(
  request: ApprovalRequest,
  { id, binding, now }: { readonly id: string; readonly binding: string; readonly now: Date },
): Omit<Approval, "entry"> {
  const { subject, event_type, facts, cwd, target_state, turn, rule, reason, expires_ms = DAY_MS } = request;
  const approval = {
    id,
    tenant: subject.tenant,
    user: subject.user,
    agent: subject.agent,
    chain: subject.chain,
    session: subject.session,
    ...(subject.session_key !== undefined && { session_key: subject.session_key }),
    ...(turn !== undefined && { turn }),
    event_type,
    tool: facts.tool,
    facts,
    enforcement: subject.enforcement,
    binding,
    cwd,
    target_state,
    ...(hasMembers(request.input_state) && { input_state: request.input_state }),
    ...(request.command && { command: request.command }),
    ...(rule !== undefined && { rule }),
    reason,
    options: optionsFor(request),
    quorum: quorumOf(request),
    ...(request.approvers && { approvers: request.approvers }),
    ...(request.four_eyes && { four_eyes: true }),
    answers: [],
    state: "pending" as const,
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + lifetime(expires_ms)).toISOString(),
  };
  if (JSON.stringify(approval).length > MAX_TEXT)
    throw new SupervisorError("invalid", "the action is too large to be shown to a person");
  return approval;
}

/** Whoever is asked may always say no. */
function optionsFor({ options = APPROVAL_OPTIONS, facts }: ApprovalRequest): readonly ApprovalOption[] {
  const offered = new Set<ApprovalOption>([...options, "deny"]);
  if (!isGrantable(facts)) offered.delete("allow_always");
  return APPROVAL_OPTIONS.filter((option) => offered.has(option));
}

function hasMembers(state: ApprovalRequest["input_state"]): state is Readonly<Record<string, string>> {
  return state !== undefined && Object.keys(state).length > 0;
}

function quorumOf({ quorum = 1 }: ApprovalRequest): number {
  if (Number.isInteger(quorum) && quorum >= 1 && quorum <= MAX_QUORUM) return quorum;
  throw new SupervisorError("invalid", `a quorum is from 1 to ${MAX_QUORUM} people, not ${quorum}`);
}

function lifetime(milliseconds: number): number {
  if (milliseconds > 0) return Math.min(milliseconds, LONGEST_MS);
  throw new SupervisorError("invalid", `a question stands for a while, not for ${milliseconds} ms`);
}
