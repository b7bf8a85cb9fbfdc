import type { Draft, Ledger } from "@reins/ledger";
import type { Action, Effect, Subject } from "@reins/policy";
import type { Settled } from "../../src/approvals/answers.ts";
import { type Approval, approvalTag } from "../../src/approvals/approval.ts";
import type { Approvals } from "../../src/approvals/approvals.ts";
import { type ApprovalRequest, newApproval } from "../../src/approvals/request.ts";
import { sessionKey } from "../../src/record/record.ts";

/** A subject, with what differs. */
export function subjectOf(own: Partial<Subject> = {}): Subject {
  return {
    user: "ann",
    tenant: "acme",
    roles: ["member"],
    scopes: ["work"],
    agent: "reed",
    trust: "registered",
    session: "s1",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement: "asked",
    ...own,
  };
}

/** An action that writes a file, with what differs. */
export function actionOf(own: Partial<Action> = {}): Action {
  const write: Effect = {
    kind: "write",
    path: "/w/a.txt",
    place: "workspace",
    inside: "a.txt",
    destroys: false,
  };
  return {
    tool: "edit",
    effects: [write],
    opaque: false,
    doubts: [],
    claims: {},
    arguments: { path: "a.txt" },
    ...own,
  };
}

/** A question, with what differs. */
export function requestOf(own: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    subject: subjectOf(),
    event_type: "pre_action",
    facts: actionOf(),
    cwd: "/w",
    target_state: { "/w/a.txt": "absent" },
    rule: "ask about edits",
    reason: "edits are asked about",
    ...own,
  };
}

/** A question about writing one file; different files are different questions. */
export function requestFor(path: string, own: Partial<ApprovalRequest> = {}): ApprovalRequest {
  const effect: Effect = { kind: "write", path, place: "workspace", destroys: false };
  return requestOf({ facts: actionOf({ effects: [effect], arguments: { path } }), target_state: {}, ...own });
}

/** The approval `apr_x` that a request asks for, with what differs. */
export function approvalFor(request: ApprovalRequest, now: Date, own: Partial<Approval> = {}): Approval {
  const asked = newApproval(request, { id: "apr_x", binding: "ab12".repeat(16), now });
  return { ...asked, entry: "", ...own };
}

/** What the verdict of a supervisor leaves in the ledger, as far as approvals are concerned. */
export function verdictDraft(request: ApprovalRequest, settled: Settled): Draft {
  const { agent, tenant } = request.subject;
  const { approval, grant, verdict } = settled;
  return {
    quality: "policy_verdict",
    actor: agent,
    target: request.facts.tool,
    entity_id: sessionKey(request.subject),
    tags: ["verdict", ...(approval ? [approvalTag(approval.id)] : [])],
    payload: {
      verdict,
      tenant,
      ...(approval && { approval: approval.id }),
      ...(grant && { grant: grant.id }),
    },
  };
}

/** An action that comes to the supervisor: what is settled about it is recorded and used; otherwise it is asked about. */
export async function act(
  { approvals, ledger }: { approvals: Approvals; ledger: Ledger },
  request: ApprovalRequest,
): Promise<"allowed" | "blocked" | "ask"> {
  const settled = await approvals.settled(request);
  if (!settled) {
    await approvals.seek(request);
    return "ask";
  }
  await ledger.record([verdictDraft(request, settled)], { with: settled.change ? [settled.change] : [] });
  approvals.announce();
  return settled.verdict;
}
