import { approvalOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";
import { tellApprovals } from "./approval-stream.ts";
import { pageOf } from "./page.ts";

const { listApprovals, getApproval, answerApproval, streamApprovals } = approvalOperations;

/** Questions to people: which there are, what they are about to those they concern, and the answers. */
export const approvalsDialect: Dialect = {
  name: "approvals",
  mount(place) {
    place.governed(listApprovals, async ({ query, principal, harness, supervisor }) => {
      const { tenant } = principal;
      const answerer = supervisor.answererOf(principal);
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.list({ ...query, tenant, limit }),
      );
      return { approvals: items.map((approval) => supervisor.shownTo(answerer, approval)), next };
    });
    place.governed(getApproval, async ({ params: { id }, principal, harness, supervisor }) => {
      const approval = await harness.approvals.get(id, principal.tenant);
      if (!approval) throw new Refusal("not_found", `there is no approval ${id}`);
      const shown = supervisor.shownTo(supervisor.answererOf(principal), approval);
      if ("withheld" in shown) return shown;
      return { ...shown, description: supervisor.describeApproval(shown) };
    });
    place.governed(answerApproval, ({ params, body, principal, harness, supervisor }) =>
      harness.approvals.answer(params.id, { ...body, ...supervisor.answererOf(principal) }),
    );
    place.stream(streamApprovals, tellApprovals);
  },
};
