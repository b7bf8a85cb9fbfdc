import { approvalOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { pageOf } from "./page.ts";

/** What people have allowed for always. */
export const grantsDialect: Dialect = {
  name: "grants",
  mount(place) {
    place.governed(approvalOperations.listGrants, async ({ query, principal: { tenant }, harness }) => {
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.grants.list({ ...query, tenant, limit }),
      );
      return { grants: items, next };
    });
    place.governed(approvalOperations.revokeGrant, ({ params, principal, harness, supervisor }) => {
      const { tenant, kind } = principal;
      const by = supervisor.actorOf(principal);
      return harness.approvals.grants.revoke(params.id, { by, tenant, isAgent: kind === "agent" });
    });
  },
};
