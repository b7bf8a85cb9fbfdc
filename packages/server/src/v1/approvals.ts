import { approvalOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";
import { tellApprovals } from "./approval-stream.ts";
import { pageOf } from "./page.ts";

const { listApprovals, getApproval, answerApproval, streamApprovals } = approvalOperations;

/** Questions to people: which there are, what they are about, and the answers. */
export const approvalsDialect: Dialect = {
  name: "approvals",
  mount(place) {
    place.governed(listApprovals, async ({ query, principal: { tenant }, harness }) => {
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.list({ ...query, tenant, limit }),
      );
      return { approvals: items, next };
    });
    place.governed(getApproval, async ({ params: { id }, principal: { tenant }, harness, supervisor }) => {
      const approval = await harness.approvals.get(id, tenant);
      if (!approval) throw new Refusal("not_found", `there is no approval ${id}`);
      return { ...approval, description: supervisor.describeApproval(approval) };
    });
    place.governed(answerApproval, ({ params, body, principal, harness, supervisor }) => {
      const { tenant, kind } = principal;
      const by = supervisor.actorOf(principal);
      return harness.approvals.answer(params.id, { ...body, by, tenant, isAgent: kind === "agent" });
    });
    place.stream(streamApprovals, tellApprovals);
  },
};
