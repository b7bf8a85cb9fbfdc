import { randomUUID } from "node:crypto";
import { type KillRequest, killOperations } from "@reins/api";
import type { Hosting, Killed, KillOrder } from "@reins/host";
import { KillReport } from "@reins/host";
import { actorOf, isOperator } from "@reins/supervisor";
import { required } from "../access/authenticator.ts";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";

type Call = AuthorizedCall<(typeof killOperations)["kill"]>;

/** The kill switch. */
export function killRoutes(hosting: () => Promise<Hosting>): Routes {
  return {
    name: "kill",
    mount(router) {
      router.handle(killOperations.kill, async (call) => {
        const opened = await required(hosting);
        const order = orderIn(call);
        const killed = (await killsOf(opened).kill(order)) ?? (await endedSession(opened, order, call));
        const { tenant: _, ...report } = KillReport.parse(call.harness.redact(killed.report));
        return { ...report, entry: killed.entry };
      });
    },
  };
}

function orderIn({ body, principal }: Call): KillOrder {
  return {
    id: randomUUID(),
    target: targetOf(body),
    tenant: isOperator(principal) ? null : principal.tenant,
    by: actorOf(principal),
    reason: body.reason ?? null,
  };
}

function targetOf({ session, agent, process }: KillRequest): KillOrder["target"] {
  if (session !== undefined) return { kind: "session", name: session };
  if (agent !== undefined) return { kind: "agent", name: agent };
  if (process !== undefined) return { kind: "process", name: process };
  return { kind: "all" };
}

function killsOf({ kills }: Hosting): NonNullable<Hosting["kills"]> {
  if (kills) return kills;
  throw new HttpProblem("unavailable", "this Reins runs no agents that could be ended");
}

/** Ends a session without a running agent. */
async function endedSession(hosting: Hosting, order: KillOrder, { principal }: Call): Promise<Killed> {
  const { target, id, by, reason } = order;
  const record = target.kind === "session" ? await hosting.hub.find(principal, target.name) : undefined;
  if (target.kind !== "session" || !record || record.ended) throw nothingRuns(target);
  return killsOf(hosting).nothingRan({
    ...{ id, by, reason, tenant: record.tenant, at: new Date().toISOString() },
    target: { kind: "session", name: record.id },
    ...{ gone: [], left: [], visibility: "marks", sessions: [record.id], inside: [] },
  });
}

function nothingRuns(target: KillOrder["target"]): HttpProblem {
  const what = target.kind === "all" ? "agent" : `${target.kind} ${target.name}`;
  return new HttpProblem("not_found", `nothing runs of the ${what}`);
}
