import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { beginLedger, LedgerNode, verifiedLedger } from "../system/support/ledger-nodes.ts";

const IDS = ["a", "b", "c"];
/** How many entries every node has to get kept between two faults, and how long it may take. */
const [PROGRESS, PATIENCE_MS] = [20, 60_000];

export default {
  name: "cluster",
  title:
    "One ledger of three nodes loses nothing while nodes are killed and stopped, and the database is killed",
  async run({ seed, scale, signal, log }) {
    if (postgresFolder === undefined) return log("there is no PostgreSQL for this machine");
    const random = seededRandom(seed);
    const folder = await mkdtemp(join(tmpdir(), "reins-cluster-"));
    const server = await PostgresServer.start();
    const running = new Map<string, LedgerNode>();
    const all: LedgerNode[] = [];
    try {
      const address = server.address();
      const keys = await beginLedger(address, folder);
      const start = async (id: string) => {
        const node = await LedgerNode.start(address, id, keys);
        running.set(id, node);
        all.push(node);
      };
      /** Waits until all of them get entries kept again; those that ended are started anew. */
      const progress = async () => {
        const goals = new Map<LedgerNode, number>();
        const until = performance.now() + PATIENCE_MS;
        for (const id of IDS)
          for (;;) {
            signal.throwIfAborted();
            const node = running.get(id);
            if (!node || node.isOver) await start(id);
            else {
              const goal = goals.get(node) ?? node.cids.length + PROGRESS;
              goals.set(node, goal);
              if (node.cids.length >= goal) break;
            }
            assert(performance.now() < until, `the node ${id} keeps nothing: ${node?.child.errors}`);
            await sleep(50);
          }
      };
      const faults = {
        async kill() {
          const node = running.get(random.pick(IDS));
          await node?.child.kill();
          await node?.over;
        },
        /** Shorter or longer than leases and claims count. */
        async stop() {
          const node = running.get(random.pick(IDS));
          node?.child.pause();
          await sleep(random.pick([100, 1_000, 4_000, 12_000]));
          node?.child.proceed();
        },
        async database() {
          await server.kill();
          await sleep(random.int(500));
          await server.resume();
        },
      };
      await progress();
      const many = scale === "full" ? 200 : 4;
      for (let round = 1; round <= many; round += 1) {
        const kind = scale === "full" ? random.pick(["kill", "stop", "database"] as const) : SMALL[round % 2];
        await faults[kind ?? "kill"]();
        await progress();
        log(`${round} of ${many} faults: ${kind}`);
      }
      for (const node of running.values()) await node.end();
      const kept = all.flatMap(({ cids }) => cids);
      const { report, entries, missing } = await verifiedLedger(address, keys, kept);
      assert.deepEqual(report.faults.slice(0, 3), [], "the verifier objects");
      assert.deepEqual(missing.slice(0, 3), [], `of ${kept.length} entries that were acknowledged`);
      log(`${entries.length} entries verified, of which ${kept.length} were acknowledged`);
    } finally {
      for (const { child } of all) await child.kill();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
} satisfies Torture;

/** What the tests run. */
const SMALL = ["kill", "database"] as const;
