import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { Killed } from "./kill-switch.ts";
import { type KillOrder, KillReport } from "./order.ts";

const Answer = z.union([
  z.object({ report: KillReport.extend({ entry: z.string().nullable() }) }),
  z.object({ nothing: z.string() }),
  z.object({ refused: z.string() }),
]);

/** What came of asking: the end of something, that nothing of it runs, or that nobody listens, or no longer. */
export type KillAnswer = Killed | "nothing" | "nobody";

/** Has the thread behind a socket carry an order out. It answers though Reins itself is blocked. */
export async function askKill(path: string, order: KillOrder, signal: AbortSignal): Promise<KillAnswer> {
  const socket = connect(path);
  try {
    await once(socket, "connect", { signal });
    socket.write(`${JSON.stringify(order)}\n`);
    const lines = createInterface({ input: socket });
    const closed = once(lines, "close", { signal }).then(() => []);
    const [line] = await Promise.race([once(lines, "line", { signal }), closed]);
    // Whoever listened has died over it; what it left behind is nobody's.
    if (line === undefined) return "nobody";
    const answer = Answer.parse(JSON.parse(String(line)));
    if ("refused" in answer) throw new Error(answer.refused);
    if ("nothing" in answer) return "nothing";
    const { entry, ...report } = answer.report;
    return { report, entry };
  } catch (error) {
    if (error instanceof Error && "code" in error && NOBODY.has(String(error.code))) return "nobody";
    throw error;
  } finally {
    socket.destroy();
  }
}

const NOBODY: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED"]);
