import { selfOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";

/** Tells whoever asks who they are here. */
export const selfDialect: Dialect = {
  name: "self",
  mount(place) {
    place.governed(selfOperations.getSelf, async ({ principal, supervisor }) => {
      const { id, kind, user, tenant, roles, scopes } = principal;
      return { id, kind, user, tenant, roles, scopes, is_admin: supervisor.isAdmin(principal) };
    });
  },
};
