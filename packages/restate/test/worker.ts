// Carries runs that append a line to a file in each step, until it is killed. Its argument is a JSON order.
import { appendFileSync, writeSync } from "node:fs";
import type { Orchestration } from "@reins/graph";
import { RestateEngine, type RestateSettings } from "../src/index.ts";
import { plainSeal } from "./engines.ts";
import { SharedJournal } from "./shared-journal.ts";

export interface WorkerOrder {
  readonly settings: RestateSettings;
  readonly name: string;
  /** The journal, and where effects are noted. */
  readonly path: string;
  readonly effects: string;
  readonly steps: number;
  /** The runs to begin. */
  readonly starts: readonly string[];
  /** A step that does not end, because it ends the process or waits to be killed. */
  readonly hangsIn?: string | undefined;
}

const order: WorkerOrder = JSON.parse(process.argv[2] ?? "");
// A process whose parent is gone has no work left.
process.stdin.on("end", () => process.exit(1)).resume();

const orchestrate: Orchestration<unknown, unknown> = async (_, { run, step, choose }) => {
  const values: unknown[] = [];
  for (let number = 0; number < order.steps; number += 1) {
    const name = `s${number}`;
    await choose(`before-${name}`, () => process.pid);
    const value = await step(name, async (key) => {
      appendFileSync(order.effects, `${key}\n`);
      if (order.hangsIn === name) await new Promise(() => undefined);
      return `${run} ${name}`;
    });
    values.push(value);
  }
  return values;
};

const { settings, name, path } = order;
const engine = new RestateEngine({
  ...{ settings, name, orchestrate },
  journal: new SharedJournal(path),
  seal: plainSeal,
});
await engine.resume();
for (const run of order.starts) await engine.start(run, null);
writeSync(1, "ready\n");
