import { randomUUID } from "node:crypto";
import { type KillReport, type KillRequest, killOperations } from "@reins/api";
import { askKill, type KillOrder, killLeftBehind, killSocketIn } from "@reins/host/kill";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { operatorSocketIn } from "../../home.ts";
import type { OperatorFlags } from "../../operator/flags.ts";
import { HttpCarrier } from "../../operator/http-carrier.ts";
import { Operator } from "../../operator/operator.ts";
import { settlePlace } from "../../operator/place.ts";
import { Unreachable } from "../../operator/unreachable.ts";
import { print } from "../../print.ts";
import { describeKill } from "./describe.ts";
import { type KillNames, targetOf } from "./target.ts";

/** The flags of `reins kill` as they were written. */
export interface KillFlags extends OperatorFlags, KillNames {
  readonly reason?: string;
}

/** As the ledger names whoever sits at this machine. */
const OPERATOR = "user:default/operator";
/** The thread looks through the process table some dozens of times at most. */
const PATIENCE_MS = 60_000;

/** Ends something and tells what became of it; the exit code. */
export async function kill(what: string | undefined, flags: KillFlags): Promise<ExitCode> {
  const target = targetOf(what, flags);
  const request = { ...target, ...(flags.reason !== undefined && { reason: flags.reason }) };
  const place = settlePlace(flags, process.env);
  const report = place.url
    ? await overHttp(new Operator(new HttpCarrier(place)), request)
    : await onThisMachine(place.home, request);
  print(flags.json ? `${JSON.stringify(report)}\n` : describeKill(report));
  return report.left.length === 0 ? EXIT.done : EXIT.failed;
}

function overHttp(operator: Operator, body: KillRequest): Promise<KillReport> {
  const advice = { not_found: "To see what runs: reins agents list, or the page at /ui/agents" };
  return operator.ask(killOperations.kill, { body, advice });
}

/** Asks the thread that listens though Reins may be blocked; without a Reins, what it left behind is ended here. */
async function onThisMachine(home: string, request: KillRequest): Promise<KillReport> {
  const order = orderOf(request);
  const answer = await askKill(killSocketIn(home), order, AbortSignal.timeout(PATIENCE_MS));
  // Nothing of it runs; Reins itself may still know a session of that name, which it then ends.
  if (answer === "nothing")
    return overHttp(new Operator(new HttpCarrier({ socket: operatorSocketIn(home) })), request);
  if (answer !== "nobody") return shown(answer.report, answer.entry);
  if (order.target.kind === "all") return shown(await killLeftBehind(home, order), null);
  throw new Unreachable(
    `No Reins runs on ${home}, and so none of its agents.`,
    "To make sure: reins kill --all",
  );
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
