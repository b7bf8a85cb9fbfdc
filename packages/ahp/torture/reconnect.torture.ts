import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { AhpClient } from "../src/index.ts";
import { aborted, pause, within } from "./bounds.ts";
import { Callers } from "./reconnect/callers.ts";
import { BREAKABLE, type Breakable, startTarget } from "./reconnect/target.ts";

const KILLS = { small: 3, full: 40 };
const LONGEST_CALM_MS = 150;
const LONGEST_ABSENCE_MS = 150;

const torture: Torture = {
  name: "ahp-reconnect",
  title:
    "A client whose harness is killed again and again: every call settles, and nothing is allowed without a decision",
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), "ahp-reconnect-"));
    try {
      for (const transport of BREAKABLE)
        await Promise.race([torment(context, transport, folder), aborted(context.signal)]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default torture;

async function torment(
  { seed, scale, log, signal }: TortureContext,
  transport: Breakable,
  folder: string,
): Promise<void> {
  const random = seededRandom(seed);
  const target = await startTarget(transport, folder);
  const client = await AhpClient.connect(target.transport, {
    timeoutMs: 5_000,
    reconnect: { firstMs: 10, mostMs: 100, attempts: 1_000 },
    random: () => random.int(1_000) / 1_000,
  });
  await client.handshake(["pre_action"]);
  const callers = new Callers(client, random);
  try {
    for (let kills = 0; kills < KILLS[scale] && !signal.aborted; kills += 1) {
      // Now and then it dies before the client has come back.
      if (random.chance(0.7)) await within(`an allow after ${kills} kills`, callers.nextAllow());
      await pause(random.int(LONGEST_CALM_MS));
      await target.kill(callers.pid);
      await pause(random.int(LONGEST_ABSENCE_MS));
      await target.restart();
    }
    await within("an allow at last", callers.nextAllow());
    await callers.stop();
    log(`${transport}: ${KILLS[scale]} kills; ${callers}`);
  } catch (error) {
    throw new Error(`${transport} (seed ${seed}): ${error}`, { cause: error });
  } finally {
    await client.close();
    await callers.stop();
    await target.stop();
  }
}
