import type { Draft, Ledger } from "@reins/ledger";
import { sessionKey } from "../../record/session-key.ts";
import type { Approvals } from "../approvals.ts";
import type { ApprovalRequest } from "../request.ts";
import type { Settled } from "../settled.ts";
import { approvalTag } from "../tags.ts";

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
