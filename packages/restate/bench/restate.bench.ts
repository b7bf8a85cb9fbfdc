import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JournalEngine, type Orchestration, type RunEngine } from "@reins/graph";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Engines } from "../test/engines.ts";
import { RestateServer, restateProgram } from "../test/restate-server.ts";
import { SharedJournal } from "../test/shared-journal.ts";

const VALUE = { kind: "completed", output: "x".repeat(200), summary: "done" };

const median = (values: readonly number[]) =>
  values.toSorted((one, two) => one - two)[Math.floor(values.length / 2)] ?? 0;

type Engine = RunEngine<unknown, unknown>;

/** Steps that do nothing, one after the other; notes what each takes. */
function steps(count: number, times: number[] = []): Orchestration<unknown, unknown> {
  return async (_, { step }) => {
    for (let number = 0; number < count; number += 1) {
      const began = performance.now();
      await step(`n${number}`, async () => VALUE);
      times.push(performance.now() - began);
    }
    return null;
  };
}

async function inTurn(engine: Engine, run: string): Promise<void> {
  await engine.start(run, null);
  await engine.ended(run);
}

/** Steps per second of so many runs at once. */
async function rateOf(engine: Engine, name: string, runs: number, count: number): Promise<number> {
  const ids = Array.from({ length: runs }, (_, index) => `${name}-${index}`);
  const began = performance.now();
  await Promise.all(ids.map((run) => inTurn(engine, run)));
  return (runs * count) / ((performance.now() - began) / 1_000);
}

const bench: Bench = {
  name: "restate",
  title: "steps of durable runs that Restate carries, beside the embedded engine on the same journal",
  async run({ scale }): Promise<BenchRow[]> {
    if (restateProgram === undefined) return [];
    const [alone, together, count, rounds] = scale === "quick" ? [40, 16, 10, 3] : [150, 32, 20, 5];
    const restate = await RestateServer.start();
    const engines = await Engines.make(restate);
    const folder = await mkdtemp(join(tmpdir(), "restate-bench-"));
    const journal = new SharedJournal(join(folder, "journal.db"));
    const [ours, embedded]: [number[], number[]] = [[], []];
    const rates: [number[], number[]] = [[], []];
    try {
      const one = engines.open(steps(alone, ours));
      const other = new JournalEngine({ orchestrate: steps(alone, embedded), journal });
      await one.resume();
      for (let round = 0; round < rounds; round += 1) {
        await inTurn(one, `alone-${round}`);
        await inTurn(other, `alone-${round}`);
      }
      await engines.kill(one);
      const many = engines.open(steps(count));
      await many.resume();
      const beside = new JournalEngine({ orchestrate: steps(count), journal });
      for (let round = 0; round < rounds; round += 1) {
        rates[0].push(await rateOf(many, `round-${round}`, together, count));
        rates[1].push(await rateOf(beside, `round-${round}`, together, count));
      }
    } finally {
      await engines.close();
      journal.close();
      await restate.stop();
      await rm(folder, { recursive: true, force: true });
    }
    return [
      {
        ...{ what: "one durable step alone, p50", value: median(ours), unit: "ms" },
        baseline: { what: "embedded engine, same journal", value: median(embedded) },
      },
      {
        ...{
          what: `durable steps of ${together} runs at once`,
          value: Math.max(...rates[0]),
          unit: "steps/s",
        },
        baseline: { what: "embedded engine, same journal", value: Math.max(...rates[1]) },
      },
    ];
  },
};

export default bench;
