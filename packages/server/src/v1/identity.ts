import { identityOperations, selfOperations } from "@reins/api";
import { isAdmin, type Principal } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";

/** Users, tokens, tenants and sub-agents. `Identity` validates names and checks what the caller may change. */
export const identityRoutes: Routes = {
  name: "identity",
  mount(router) {
    router.handle(identityOperations.listTenants, async ({ principal, harness: { identity } }) => ({
      tenants: await identity.listTenants(principal),
    }));
    router.handle(identityOperations.removeTenant, ({ principal, params, harness: { identity } }) =>
      identity.removeTenant(params.tenant, principal),
    );
    router.handle(identityOperations.listUsers, async ({ principal, query, harness: { identity } }) => ({
      users: await identity.listUsers(query.tenant, principal),
    }));
    router.handle(identityOperations.addUser, ({ principal, body, harness: { identity } }) =>
      identity.addUser(body, principal),
    );
    router.handle(identityOperations.setUser, ({ principal, params, query, body, harness: { identity } }) =>
      identity.setUser({ ...body, id: params.user, tenant: query.tenant }, principal),
    );
    router.handle(identityOperations.removeUser, ({ principal, params, query, harness: { identity } }) =>
      identity.removeUser({ id: params.user, tenant: query.tenant }, principal),
    );
    router.handle(identityOperations.listTokens, async ({ principal, query, harness: { identity } }) => ({
      tokens: await identity.listTokens(query.tenant, principal),
    }));
    // The response contains the secret: it must not be stored or logged.
    router.handle(identityOperations.createToken, ({ principal, body, harness: { identity } }) =>
      identity.createToken(body, principal),
    );
    router.handle(identityOperations.revokeToken, ({ principal, params, harness: { identity } }) =>
      identity.revokeToken(params.token, principal),
    );
    router.handle(
      identityOperations.listChildSessions,
      async ({ principal, query, harness: { identity } }) => ({
        sessions: await identity.listSessions(query.tenant, principal),
      }),
    );
    router.handle(
      identityOperations.revokeChildSession,
      async ({ principal, params, query, harness: { identity } }) => {
        const ended = await identity.revokeSession(params.session, principal, query.tenant);
        if (ended === 0)
          throw new HttpProblem("not_found", `no sub-agent runs in the session "${params.session}"`);
        return { ended };
      },
    );
  },
};

/** The default folder of a principal's sessions. */
export type WorkspaceFor = (principal: Principal) => Promise<string>;

/** `/v1/whoami`: the caller's own principal and workspace. */
export function selfRoutes(workspaceFor: WorkspaceFor | undefined): Routes {
  return {
    name: "self",
    mount(router) {
      router.handle(selfOperations.getSelf, async ({ principal }) => {
        const { id, kind, user, tenant, roles, scopes } = principal;
        const workspace = await workspaceFor?.(principal);
        return {
          ...{ id, kind, user, tenant, roles, scopes },
          is_admin: isAdmin(principal),
          ...(workspace !== undefined && { workspace }),
        };
      });
    },
  };
}
