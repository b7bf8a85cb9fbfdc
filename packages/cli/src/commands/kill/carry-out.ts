import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { type KillReport, type KillRequest, killOperations } from "@reins/api";
import { askKill, type KillOrder, killLeftBehind, killSocketIn } from "@reins/host/kill";
import { Operator } from "../../client/api-client.ts";
import { HttpCarrier, Unreachable } from "../../client/transport.ts";
import { operatorSocketIn } from "../../home.ts";

/** As the ledger names whoever sits at this machine. */
const OPERATOR = "user:default/operator";
/** The thread looks through the process table some dozens of times at most. */
const PATIENCE_MS = 60_000;

/** Has a Reins that is reached over HTTP carry it out. */
export function killOver(operator: Operator, body: KillRequest): Promise<KillReport> {
  const advice = { not_found: "To see what runs: reins agents list, or the page at /ui/agents" };
  return operator.ask(killOperations.kill, { body, advice });
}

/**
 * Asks the thread that listens though Reins may be blocked; without a Reins, or with one that stands still as a whole,
 * what came out of it is ended here.
 */
export async function killHere(
  home: string,
  request: KillRequest,
  patienceMs = PATIENCE_MS,
): Promise<KillReport> {
  if (!statSync(home, { throwIfNoEntry: false })?.isDirectory())
    throw new Unreachable(
      `${home} is no home of a Reins, and so nothing came out of it.`,
      "For another home, give --home <folder> or set REINS_HOME.",
    );
  const order = orderOf(request);
  const patience = AbortSignal.timeout(patienceMs);
  const answer = await askKill(killSocketIn(home), order, patience).catch((error: unknown) => {
    if (patience.aborted) return "silence" as const;
    throw error;
  });
  // Nothing of it runs; Reins itself may still know a session of that name, which it then ends.
  if (answer === "nothing")
    return killOver(new Operator(new HttpCarrier({ socket: operatorSocketIn(home) })), request);
  if (answer !== "nobody" && answer !== "silence") return shown(answer.report, answer.entry);
  // Under a name of its own: one that stands still may yet carry out what it was asked, and find nothing any more.
  if (order.target.kind === "all") return shown(await killLeftBehind(home, orderOf(request)), null);
  const why =
    answer === "silence"
      ? `The Reins on ${home} stands still: not even the thread answers that ends things.`
      : `No Reins runs on ${home}, and so none of its agents.`;
  throw new Unreachable(why, "To make sure: reins kill --all");
}

function orderOf({ session, agent, process, reason }: KillRequest): KillOrder {
  const target: KillOrder["target"] =
    session !== undefined
      ? { kind: "session", name: session }
      : agent !== undefined
        ? { kind: "agent", name: agent }
        : process !== undefined
          ? { kind: "process", name: process }
          : { kind: "all" };
  return { id: randomUUID(), target, tenant: null, by: OPERATOR, reason: reason ?? null };
}

function shown(report: Awaited<ReturnType<typeof killLeftBehind>>, entry: string | null): KillReport {
  const { tenant: _, ...rest } = report;
  return { ...rest, entry };
}
