import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { aborted } from "./bounds.ts";
import { Bystander } from "./bystander.ts";
import { Harness } from "./harness/harness.ts";
import { type Amounts, bounded, type HostileContext, MOST_CONNECTIONS, TOKEN } from "./hostile/context.ts";
import { CRUMBS } from "./hostile/crumbs.ts";
import { DEAF } from "./hostile/deaf.ts";
import { DEEP } from "./hostile/deep.ts";
import { HUGE } from "./hostile/huge.ts";
import { INTRUDERS } from "./hostile/intruders.ts";
import { SLOW } from "./hostile/slow.ts";
import { VANISH } from "./hostile/vanish.ts";
import { megabytes } from "./memory.ts";

const AMOUNTS: Readonly<Record<TortureContext["scale"], Amounts>> = {
  small: { huge: 20 * 2 ** 20, crumbs: 500_000, many: 100 },
  full: { huge: 100 * 2 ** 20, crumbs: 2_000_000, many: 2_000 },
};

const torture: Torture = {
  name: "ahp-hostile",
  title: "Peers that send too much, read nothing, vanish, intrude or crowd; others notice nothing",
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), "ahp-hostile-"));
    const unix = join(folder, "ahp.sock");
    const harness = await Harness.start({
      unix,
      http: { token: TOKEN },
      limits: { maxConnections: MOST_CONNECTIONS, stallMs: 500 },
      deadlineMs: 600_000,
    });
    try {
      await suffer(context, harness, unix);
    } finally {
      await harness.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default torture;

async function suffer(
  { seed, scale, signal, log }: TortureContext,
  harness: Harness,
  unix: string,
): Promise<void> {
  const auth = { method: { type: "bearer", token: TOKEN } } as const;
  const bystanders = await Promise.all([
    Bystander.start({ type: "unix", path: unix }),
    Bystander.start({ type: "websocket", url: harness.webSocket, auth }),
    Bystander.start({ type: "http", url: harness.http, auth }),
  ]);
  const disturbances = [harness.died, aborted(signal), ...bystanders.map(({ failed }) => failed)];
  const context: HostileContext = { harness, unix, random: seededRandom(seed), amounts: AMOUNTS[scale] };
  try {
    for (const { name, run } of [...HUGE, ...CRUMBS, ...DEAF, ...VANISH, ...DEEP, ...INTRUDERS, ...SLOW]) {
      try {
        const more = await Promise.race([bounded(harness, () => run(context)), ...disturbances]);
        log(`${name}: at most ${megabytes(more)} more lived in the server`);
      } catch (error) {
        throw new Error(`${name} (seed ${seed}): ${error}`, { cause: error });
      }
    }
  } finally {
    await Promise.all(bystanders.map((bystander) => bystander.stop()));
  }
  log(`right answers to well-behaved clients: ${bystanders.map(({ answers }) => answers).join(", ")}`);
}
