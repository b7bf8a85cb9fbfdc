import { selfOperations } from "@reins/api";
import type { Dialect } from "../dialect/dialect.ts";

/** Tells whoever asks who they are here, and where they would work. */
export function selfDialect(workspace: string | undefined): Dialect {
  return {
    name: "self",
    mount(place) {
      place.governed(selfOperations.getSelf, async ({ principal, supervisor }) => {
        const { id, kind, user, tenant, roles, scopes } = principal;
        const is_admin = supervisor.isAdmin(principal);
        return {
          id,
          kind,
          user,
          tenant,
          roles,
          scopes,
          is_admin,
          ...(workspace !== undefined && { workspace }),
        };
      });
    },
  };
}
