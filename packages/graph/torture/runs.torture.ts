import { deepStrictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "@reins/store";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { graphTables } from "../src/engine/tables.ts";
import { comparable, wholeRun } from "../test/whole-run.ts";
import { effects } from "./runs/effects.ts";
import { live } from "./runs/life.ts";
import type { RunsOrder } from "./runs/order.ts";

const RUNS = { small: 50, full: 500 } as const;
/** Runs that share a process, and die with it. */
const TOGETHER = 50;
const MOST_ACTIONS = 12;
const MOST_LIVES = 400;

type Life = RunsOrder["runs"];

const torture: Torture = {
  name: "graph-runs",
  title:
    "durable runs are killed at every step; each comes to the end it has unkilled, every effect once by its key",
  async run(context) {
    const random = seededRandom(context.seed);
    const folder = await mkdtemp(join(tmpdir(), "graph-runs-"));
    try {
      for (let first = 0; first < RUNS[context.scale]; first += TOGETHER) {
        const runs = Array.from({ length: TOGETHER }, (_, index) => ({
          id: `run-${first + index}`,
          seed: random.int(2 ** 32),
          actions: 1 + random.int(MOST_ACTIONS),
        }));
        await tortureRuns(join(folder, `runs-${first}.db`), runs, random, context);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default torture;

/** Runs are continued by one process after the other, each killed after one step of each run, until all have ended. */
async function tortureRuns(
  path: string,
  runs: Life,
  random: Random,
  { signal, log }: TortureContext,
): Promise<void> {
  const results = new Map<string, unknown>();
  let kills = 0;
  for (let lives = 1; results.size < runs.length; lives += 1) {
    signal.throwIfAborted();
    if (lives > MOST_LIVES) throw new Error(`${runs.length - results.size} runs do not end`);
    const left = runs.filter(({ id }) => !results.has(id));
    const order = {
      path,
      runs: left,
      steps: 1,
      cut: random.pick(["before", "after"] as const),
      isKilled: true,
    };
    // Some die at another moment: while they start, replay or store.
    const reports = await live(order, random.chance(0.15) ? random.int(900) : undefined);
    kills += 1;
    for (const report of reports) {
      if (report.kind === "repeated") throw new Error(`${report.key} was executed again after it was stored`);
      results.set(report.run, report.result);
    }
  }
  await expectSame(path, runs, results);
  log(`${runs.length} runs, ${kills} kills`);
}

/** Each run ended as it does in one piece, with the same effects. */
async function expectSame(path: string, runs: Life, results: ReadonlyMap<string, unknown>): Promise<void> {
  const store = await openSqlite({ path, tables: [graphTables, effects] });
  const done = (await store.query(effects, "effects", null)).map(({ key }) => key).sort();
  await store.close();
  const expected: string[] = [];
  for (const run of runs) {
    const { result, keys } = await wholeRun(run);
    expected.push(...keys);
    deepStrictEqual(comparable(results.get(run.id)), comparable(result), `${run.id}, seed ${run.seed}`);
  }
  deepStrictEqual(done, expected.sort());
}
