import { identityOperations, type Operation, Problem, selfOperations } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import { z } from "zod";
import { HttpProblem } from "../problems.ts";
import type { SupervisorCode } from "../routes/authorize.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";

type IdentityRoute = ReturnType<SupervisorCode["identityRoutes"]>[number];

const Names = z.record(z.string(), z.string().optional());
const routes = new WeakMap<Harness, readonly IdentityRoute[]>();

/** Users, tokens, tenants and sub-agents. What is right and who may is the identity's own to say. */
export const identityRoutes: Routes = {
  name: "identity",
  mount(router) {
    const all: readonly Operation[] = Object.values(identityOperations);
    for (const operation of all) router.handle(operation, (call) => ask(operation, call));
  },
};

async function ask(operation: Operation, call: AuthorizedCall): Promise<object | undefined> {
  const { principal, body } = call;
  const params = { ...Names.parse(call.query), ...Names.parse(call.params) };
  const answer = await routeOf(operation, call).handle({ principal, params, body });
  if (answer.status >= 400) throw new HttpProblem(Problem.parse(answer.body));
  return typeof answer.body === "object" && answer.body !== null ? answer.body : undefined;
}

function routeOf({ method, path }: Operation, { harness, supervisor }: AuthorizedCall): IdentityRoute {
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
export function selfRoutes(workspaceFor: WorkspaceFor | undefined): Routes {
  return {
    name: "self",
    mount(router) {
      router.handle(selfOperations.getSelf, async ({ principal, supervisor }) => {
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
