import { selfOperations } from "@reins/api";
import type { Principal } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";

/** The folder of somebody's sessions that name none. */
export type WorkspaceFor = (principal: Principal) => Promise<string>;

/** Tells whoever asks who they are here, and where they would work. */
export function selfDialect(workspaceFor: WorkspaceFor | undefined): Dialect {
  return {
    name: "self",
    mount(place) {
      place.governed(selfOperations.getSelf, async ({ principal, supervisor }) => {
        const { id, kind, user, tenant, roles, scopes } = principal;
        const workspace = await workspaceFor?.(principal);
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
