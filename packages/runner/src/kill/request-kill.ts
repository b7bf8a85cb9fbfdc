import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { hasCode } from "@reins/kit";
import { z } from "zod";
import type { Killed } from "./kill-switch.ts";
import { type KillOrder, KillReport } from "./order.ts";

const Answer = z.union([
  z.object({ report: KillReport.extend({ entry: z.string().nullable() }) }),
  z.object({ nothing: z.string() }),
  z.object({ refused: z.string() }),
]);

/** The outcome of a request; `nothing`: no agent matches, `no_listener`: no Reins answers on the socket. */
export type KillAnswer = Killed | "nothing" | "no_listener";

/** Sends an order to the kill thread, which answers even if Reins itself is blocked. */
export async function requestKill(path: string, order: KillOrder, signal: AbortSignal): Promise<KillAnswer> {
  const socket = connect(path);
  try {
    await once(socket, "connect", { signal });
    socket.write(`${JSON.stringify(order)}\n`);
    const lines = createInterface({ input: socket });
    const closed = once(lines, "close", { signal }).then(() => []);
    const [line] = await Promise.race([once(lines, "line", { signal }), closed]);
    // The listener died before it answered.
    if (line === undefined) return "no_listener";
    const answer = Answer.parse(JSON.parse(String(line)));
    if ("refused" in answer) throw new Error(answer.refused);
    if ("nothing" in answer) return "nothing";
    const { entry, ...report } = answer.report;
    return { report, entry };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ECONNREFUSED")) return "no_listener";
    throw error;
  } finally {
    socket.destroy();
  }
}
