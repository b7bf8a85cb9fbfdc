import { approvalOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";
import { pageOf } from "./page.ts";

/** What people have allowed for always, as far as it concerns the one who looks. */
export const grantsDialect: Dialect = {
  name: "grants",
  mount(place) {
    place.governed(approvalOperations.listGrants, async ({ query, principal, harness, supervisor }) => {
      const { tenant } = principal;
      const answerer = supervisor.answererOf(principal);
      const { items, next } = await pageOf(query.limit, (limit) =>
        harness.approvals.grants.list({ ...query, tenant, limit }),
      );
      return { grants: items.filter((grant) => supervisor.isConcerned(answerer, grant)), next };
    });
    place.governed(approvalOperations.revokeGrant, ({ params, principal, harness, supervisor }) =>
      harness.approvals.grants.revoke(params.id, supervisor.answererOf(principal)),
    );
  },
};
