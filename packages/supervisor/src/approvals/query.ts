import type { QueryResponse } from "@reins/ahp";
import { z } from "zod";
import type { Approval } from "./approval.ts";
import type { Approvals } from "./approvals.ts";

/** Who asks about approvals over AHP, and about which. */
export interface ApprovalQuestion {
  readonly tenant: string;
  /** The user and the session of the one who asks; nobody is told about another's. Agents name their sessions as they like. */
  readonly user: string;
  readonly session: string;
  /** The agent that the token of the one who asks stands for, if it is for one alone: whatever its sessions are called. */
  readonly agent?: string | undefined;
  /** `{ "approval": id }`, where `id` may be an `escalation_target`; anything else asks about the whole session. */
  readonly payload: unknown;
}

const Payload = z.object({ approval: z.string() });
const TARGET = "approval:";
const MOST = 100;

/** The `escalation_target` that names an approval. */
export function escalationTarget({ id }: Pick<Approval, "id">): string {
  return `${TARGET}${id}`;
}

/** Answers `ahp/query` with `query_type: "approval"`. */
export async function queryApproval(
  approvals: Pick<Approvals, "get" | "list">,
  { tenant, user, session, agent, payload }: ApprovalQuestion,
): Promise<QueryResponse> {
  const asked = Payload.safeParse(payload);
  if (!asked.success)
    return approvalAnswer(
      await approvals.list({
        ...{ tenant, user, order: "newest", limit: MOST },
        ...(agent === undefined ? { session } : { agent }),
      }),
    );
  const approval = await approvals.get(asked.data.approval.replace(TARGET, ""), tenant);
  const isOwn =
    approval?.user === user &&
    (approval.session === session || (agent !== undefined && approval.agent === agent));
  return approvalAnswer(isOwn ? approval : undefined);
}

/** What an agent is told: of one approval, or of several. */
export function approvalAnswer(approval: Approval | readonly Approval[] | undefined): QueryResponse {
  if (approval === undefined) return { answer: null, reason: "there is no such approval" };
  if (!("id" in approval)) return { answer: { approvals: approval.map(told) } };
  return { answer: told(approval), reason: meaning(approval) };
}

function told(approval: Approval) {
  const { id, state, event_type, tool, reason, quorum, answers, created_at, expires_at } = approval;
  const note = answers.find(({ decision }) => decision === "deny")?.note;
  return {
    approval: id,
    escalation_target: escalationTarget(approval),
    state,
    event_type,
    tool,
    reason,
    quorum,
    answers: answers.length,
    created_at,
    expires_at,
    ...(note !== undefined && { note }),
  };
}

/** What the state means for the one who asked. */
function meaning({ state }: Approval): string {
  switch (state) {
    case "pending":
      return "a person has yet to answer; ask again later";
    case "approved":
      return "send the same event again: it is allowed, once";
    case "denied":
      return "a person said no; the same event is blocked";
    case "expired":
      return "nobody answered or used it in time; the action is not allowed";
    case "withdrawn":
      return "the question was withdrawn; the action is not allowed";
    case "used":
      return "it was allowed, once, and that was used";
  }
}
