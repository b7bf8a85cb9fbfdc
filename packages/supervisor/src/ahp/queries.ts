import type { Call, QueryRequest, QueryResponse } from "@reins/ahp";
import { faultSentences } from "@reins/kit";
import { z } from "zod";
import type { Approval } from "../approvals/approval.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { SupervisorError } from "../errors.ts";
import { AgentName } from "../identity/names.ts";
import type { Principal } from "../identity/principal.ts";
import { soleAgent } from "../identity/subjects.ts";
import type { SupervisorParts } from "./handlers.ts";
import { recordRefusal, senderOf } from "./subject.ts";

const Delegation = z.object({
  child_agent: AgentName,
  task: z.string().default(""),
  scopes: z.array(z.string()).default([]),
  session_token: z.string().optional(),
});

const BudgetQuestion = z.object({ session_token: z.string().optional() });
const RunQuestion = z.object({ run_id: z.string().optional() });

/** Answers what an agent asks of its harness: about approvals, policy, budgets and runs, and for a child session. */
export async function answerQuestion(
  parts: SupervisorParts,
  request: QueryRequest,
  call: Call,
): Promise<QueryResponse> {
  const principal = await senderOf(parts, call);
  try {
    return await answered(parts, request, principal);
  } catch (error) {
    // A query is no event, so what is recorded of one that is refused is who asked, and for what.
    const { session_id, agent_id, query_type } = request;
    const event = { event_type: "query" as const, session_id, agent_id, depth: 0, payload: { query_type } };
    await recordRefusal(parts, principal, { ...event, timestamp: "" }, error);
    throw error;
  }
}

/** Reads the members of a question; what is missing or wrong is said by name. */
function membersOf<Members>(schema: z.ZodType<Members>, query: string, payload: unknown): Members {
  const read = schema.safeParse(payload ?? {});
  if (read.success) return read.data;
  const faults = faultSentences(read.error, "payload");
  throw new SupervisorError("invalid", `the query "${query}" cannot be answered: ${faults}`);
}

async function answered(
  parts: SupervisorParts,
  request: QueryRequest,
  principal: Principal,
): Promise<QueryResponse> {
  const { identity, policies, approvals, runs, supervisor } = parts;
  const { tenant, user } = principal;
  const { session_id, agent_id, payload } = request;
  switch (request.query_type) {
    case "approval":
      return queryApproval(approvals, {
        ...{ tenant, user, session: session_id, payload },
        agent: soleAgent(principal),
      });
    case "policy": {
      const status = policies.status(tenant);
      const rules = status?.policy?.rules.length ?? 0;
      return { answer: { ...status?.policy?.hashes, rules, in_force: status?.policy !== undefined } };
    }
    case "budget": {
      const { session_token: childToken } = membersOf(BudgetQuestion, "budget", payload);
      const who = { principal, agent: agent_id, session: session_id, childToken };
      const limits = await supervisor.budget(identity.subjectFor({ ...who, enforcement: "asked" }));
      return {
        answer: { limits: limits.map(({ limit: { condition: _, ...limit }, used }) => ({ ...limit, used })) },
      };
    }
    case "run": {
      const { run_id } = membersOf(RunQuestion, "run", payload);
      if (run_id === undefined) return { answer: { runs: await runs.list(principal, session_id) } };
      // Contracts come as notifications, so this is where their sender learns what was refused.
      const [found, faults] = await Promise.all([
        runs.find(principal, run_id),
        runs.faults(principal, run_id),
      ]);
      return { answer: { runs: found, faults } };
    }
    case "delegate": {
      const { child_agent, task, scopes, session_token } = membersOf(Delegation, "delegate", payload);
      const parent = { principal, parentSession: session_id, parentAgent: agent_id };
      const child = { childAgent: child_agent, task, scopes, childToken: session_token };
      return { answer: { ...(await identity.delegate({ ...parent, ...child })) } };
    }
    default:
      throw new SupervisorError(
        "invalid",
        `there is no query_type "${request.query_type}"; ask for approval, policy, budget, run or delegate`,
      );
  }
}

/** Who asks about approvals over AHP, and about which. */
export interface ApprovalQuestion {
  readonly tenant: string;
  /** The user and the session that ask; approvals of others are not visible. Agents choose the names of their sessions. */
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

/** The response to an agent about one approval, or about several. */
export function approvalAnswer(approval: Approval | readonly Approval[] | undefined): QueryResponse {
  if (approval === undefined) return { answer: null, reason: "there is no such approval" };
  if (!("id" in approval)) return { answer: { approvals: approval.map(describe) } };
  return { answer: describe(approval), reason: meaning(approval) };
}

function describe(approval: Approval) {
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
      return "it was not answered or used in time; the action is not allowed";
    case "withdrawn":
      return "the question was withdrawn; the action is not allowed";
    case "used":
      return "it was allowed, once, and that was used";
  }
}
