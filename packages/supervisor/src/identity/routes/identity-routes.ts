import { SupervisorError } from "../../errors.ts";
import type { Identity } from "../identity.ts";
import { read } from "../names.ts";
import { NewToken } from "../tokens.ts";
import { NewUser, UserChange } from "../users.ts";
import { adminRoute, type IdentityRoute } from "./route.ts";

const UserMembers = UserChange.omit({ id: true, tenant: true });

/** Identity over HTTP. `?tenant=` is for the operator; to anybody else there is no tenant but their own. */
export function identityRoutes(identity: Identity): readonly IdentityRoute[] {
  return [
    adminRoute("GET", "/tenants", async ({ principal }) => {
      return { status: 200, body: { tenants: await identity.listTenants(principal) } };
    }),
    adminRoute("DELETE", "/tenants/:tenant", async ({ principal, params }) => {
      await identity.removeTenant(params.tenant ?? "", principal);
      return { status: 204 };
    }),
    adminRoute("GET", "/users", async ({ principal, params }) => {
      return { status: 200, body: { users: await identity.listUsers(params.tenant, principal) } };
    }),
    adminRoute("POST", "/users", async ({ principal, body }) => {
      return { status: 201, body: await identity.addUser(read(NewUser, body), principal) };
    }),
    adminRoute("PATCH", "/users/:user", async ({ principal, params, body }) => {
      const user = { ...read(UserMembers, body), id: params.user ?? "", tenant: params.tenant };
      return { status: 200, body: await identity.setUser(user, principal) };
    }),
    adminRoute("DELETE", "/users/:user", async ({ principal, params }) => {
      await identity.removeUser({ id: params.user ?? "", tenant: params.tenant }, principal);
      return { status: 204 };
    }),
    adminRoute("GET", "/tokens", async ({ principal, params }) => {
      return { status: 200, body: { tokens: await identity.listTokens(params.tenant, principal) } };
    }),
    // The answer holds the secret: it is not to be stored or logged on its way.
    adminRoute("POST", "/tokens", async ({ principal, body }) => {
      return { status: 201, body: await identity.createToken(read(NewToken, body), principal) };
    }),
    adminRoute("DELETE", "/tokens/:token", async ({ principal, params }) => {
      await identity.revokeToken(params.token ?? "", principal);
      return { status: 204 };
    }),
    adminRoute("GET", "/sessions", async ({ principal, params }) => {
      return { status: 200, body: { sessions: await identity.listSessions(params.tenant, principal) } };
    }),
    adminRoute("DELETE", "/sessions/:session", async ({ principal, params }) => {
      const { session = "", tenant } = params;
      const ended = await identity.revokeSession(session, principal, tenant);
      if (ended === 0)
        throw new SupervisorError("not_found", `no sub-agent runs in the session "${session}"`);
      return { status: 200, body: { ended } };
    }),
  ];
}
