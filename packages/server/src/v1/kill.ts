import { randomUUID } from "node:crypto";
import { type KillRequest, killOperations, KillReport as ShownReport } from "@reins/api";
import type { Hosting, Killed, KillOrder } from "@reins/host";
import { KillReport } from "@reins/host";
import { actorOf, isOperator } from "@reins/supervisor";
import { z } from "zod";
import { required } from "../access/authenticator.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { NODE_DIRECT } from "../cluster/link-headers.ts";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";

type Report = z.infer<typeof ShownReport>;
type Call = AuthorizedCall<(typeof killOperations)["kill"]>;

/** The kill switch. */
export function killRoutes(hosting: () => Promise<Hosting>, cluster?: Cluster): Routes {
  return {
    name: "kill",
    mount(router) {
      router.handle(killOperations.kill, async (call) => {
        const here = () => killHere(hosting, call);
        // What runs for other tenants, the operator's order ends wherever it runs. The id of a process says nothing elsewhere.
        const isForAll = isOperator(call.principal) && !isDirect(call) && call.body.process === undefined;
        return cluster && isForAll ? killEverywhere(cluster, call, here) : here();
      });
    },
  };
}

async function killHere(hosting: () => Promise<Hosting>, call: Call): Promise<Report> {
  const opened = await required(hosting);
  const order = orderIn(call);
  const killed = (await killsOf(opened).kill(order)) ?? (await endedSession(opened, order, call));
  const { tenant: _, ...report } = KillReport.parse(call.harness.redact(killed.report));
  return { ...report, entry: killed.entry };
}

/** Has all nodes carry an order out, and adds their reports up. */
async function killEverywhere(
  cluster: Cluster,
  { body, caller }: Call,
  here: () => Promise<Report>,
): Promise<Report> {
  const [own, others] = await Promise.all([
    here().catch((error: unknown) => error),
    cluster.askOthers(killOperations.kill.path, body, caller),
  ]);
  const reports = others.map(({ node, status, body: answer }) => ({
    node,
    status,
    report: status === 200 ? ShownReport.parse(answer) : undefined,
    error:
      status === 200 || status === 404
        ? null
        : String(ProblemDetail.safeParse(answer).data?.detail ?? answer),
  }));
  const given = own instanceof Error ? [] : [ShownReport.parse(own)];
  const all = [...given, ...reports.flatMap(({ report }) => report ?? [])];
  const [first] = all;
  const isNothingHere = own instanceof HttpProblem && own.problem.status === 404;
  if (own instanceof Error && !isNothingHere) throw own;
  const unknown = reports.flatMap(({ node, error }) => (error === null ? [] : [`${node} (${error})`]));
  if (!first && unknown.length > 0)
    throw new HttpProblem(
      "unavailable",
      `nothing runs where that is known, and nothing is known of ${unknown.join(", ")}`,
    );
  if (!first) throw own;
  return {
    ...first,
    gone: all.flatMap(({ gone }) => gone),
    left: all.flatMap(({ left }) => left),
    sessions: all.flatMap(({ sessions }) => sessions),
    inside: all.flatMap(({ inside }) => inside),
    nodes: reports.map(({ node, report, error }) => ({
      ...{ node, error },
      gone: report?.gone.length ?? 0,
      left: report?.left.length ?? 0,
    })),
  };
}

const ProblemDetail = z.looseObject({ detail: z.string() });

function isDirect({ context, request }: Call): boolean {
  return context.link === true && request.headers[NODE_DIRECT] !== undefined;
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
  // Another node serves the session, and ends it.
  const isElsewhere = record !== undefined && !hosting.hub.tenants.serves(record.tenant);
  if (target.kind !== "session" || !record || record.ended || isElsewhere) throw nothingRuns(target);
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
