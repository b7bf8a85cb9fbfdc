import { identityOperations, type Operation, Problem } from "@reins/api";
import type { Harness } from "@reins/supervisor";
import { z } from "zod";
import type { GovernedCall } from "../dialect/call.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { SupervisorCode } from "../dialect/governing.ts";
import { Refusal } from "../problems/refusal.ts";

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
