import { type Approval, approvalOperations, type ShownApproval } from "@reins/api";
import type { Operator } from "../../client/api-client.ts";

/** Which approvals, and in which order. */
export interface ApprovalFilter {
  readonly state?: Approval["state"] | undefined;
  readonly session?: string | undefined;
  readonly order?: "oldest" | "newest" | undefined;
}

/** An approval can be a megabyte, and a page has to fit into an answer. */
const PAGE = 50;

/** Approvals page by page, at most so many. */
export async function* approvalPages(
  operator: Pick<Operator, "ask">,
  filter: ApprovalFilter,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<ShownApproval[]> {
  let after: string | undefined;
  for (let wanted = most; wanted > 0; ) {
    const query = { ...filter, after, limit: Math.min(PAGE, wanted) };
    const { approvals, next } = await operator.ask(approvalOperations.listApprovals, { query });
    if (approvals.length > 0) yield approvals;
    if (next === undefined) return;
    after = next;
    wanted -= approvals.length;
  }
}
