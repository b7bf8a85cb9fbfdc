import { identityOperations, type Operation, Problem, selfOperations } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import { z } from "zod";
import { Refusal } from "../problems.ts";
import type { SupervisorCode } from "../routes/authorize.ts";
import type { Dialect, GovernedCall } from "../routes/router.ts";

type IdentityRoute = ReturnType<SupervisorCode["identityRoutes"]>[number];

const Names = z.record(z.string(), z.string().optional());
const routes = new WeakMap<Harness, readonly IdentityRoute[]>();

/** Users, tokens, tenants and sub-agents. What is right and who may is the identity's own to say. */
export const identityDialect: Dialect = {
  name: "identity",
  mount(place) {
    const all: readonly Operation[] = Object.values(identityOperations);
    for (const operation of all) place.governed(operation, (call) => ask(operation, call));
  },
};

async function ask(operation: Operation, call: GovernedCall): Promise<object | undefined> {
  const { principal, body } = call;
  const params = { ...Names.parse(call.query), ...Names.parse(call.params) };
  const answer = await routeOf(operation, call).handle({ principal, params, body });
  if (answer.status >= 400) throw new Refusal(Problem.parse(answer.body));
  return typeof answer.body === "object" && answer.body !== null ? answer.body : undefined;
}

function routeOf({ method, path }: Operation, { harness, supervisor }: GovernedCall): IdentityRoute {
  const known = routes.get(harness) ?? supervisor.identityRoutes(harness.identity);
  routes.set(harness, known);
  const pattern = path.replace(/\{(\w+)\}/g, ":$1");
  const route = known.find((each) => each.method === method && each.path === pattern);
  if (route) return route;
  throw new Error(`identity has no route ${method} ${pattern}`);
}

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
