// Carries runs until it is killed. Its argument is a JSON order.
import { appendFileSync, writeSync } from "node:fs";
import { type Orchestration, runGraph, sendControl } from "@reins/graph";
import { z } from "zod";
import { randomRun } from "../../graph/test/random-run.ts";
import { Endpoint, RestateEngine, type RestateSettings } from "../src/index.ts";
import { plainSeal } from "./engines.ts";
import { SharedJournal } from "./shared-journal.ts";

/** A run by its seed. */
const Input = z.object({ seed: z.int(), actions: z.int() });

export interface WorkerOrder {
  readonly settings: RestateSettings;
  readonly name: string;
  /** The journal, and where the keys of effects are noted. */
  readonly path: string;
  readonly effects: string;
  /** The runs to begin that have not begun. */
  readonly runs: Readonly<Record<string, z.infer<typeof Input>>>;
  /** Milliseconds that an effect takes. */
  readonly takes: number;
  /** Whether it alone runs what it is ordered to, and takes it over from others. */
  readonly isAlone?: boolean | undefined;
  /** An effect that does not end, by the end of its key. */
  readonly hangsIn?: string | undefined;
}

const order: WorkerOrder = JSON.parse(process.argv[2] ?? "");
// A process whose parent is gone has no work left.
process.stdin.on("end", () => process.exit(1)).resume();

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const orchestrate: Orchestration<unknown, unknown> = async (input, scope) => {
  const { seed, actions } = Input.parse(input);
  const run = randomRun(seed, { actions });
  const decided = new Set<string>();
  return runGraph(run.graph, scope, {
    parallel: run.parallel,
    writesOf: (action) => run.writes.get(action.id) ?? [],
    attempt: async ({ action, key }) => {
      appendFileSync(order.effects, `${key}\n`);
      if (order.hangsIn !== undefined && key.endsWith(order.hangsIn)) await new Promise(() => undefined);
      await pause(order.takes);
      return run.attempt(action.id, Number(key.split("/").at(-1))).attempt;
    },
    onChange: (changed) => {
      if (!("action" in changed)) return;
      const { id: action, status, attempts } = changed.action;
      const { failure } = run.graph.actions.find((one) => one.id === action) ?? {};
      if (status !== "failed" || failure?.on_failure !== "ask_model") return;
      if (decided.has(`${action}/${attempts}`)) return;
      decided.add(`${action}/${attempts}`);
      void decide(scope.run, run.decide(action, attempts));
    },
  });
};

/** Sends a decision until it has arrived. One that arrives twice is answered once. */
async function decide(run: string, control: Parameters<typeof sendControl>[2]): Promise<void> {
  for (;;) {
    try {
      await sendControl(engine, run, control);
      return;
    } catch {
      await pause(200);
    }
  }
}

const { settings, name, path } = order;
const journal = new SharedJournal(path);
const engine = new RestateEngine({
  ...{ settings, name, orchestrate, journal, seal: plainSeal },
  ...(order.isAlone && { endpoint: new Endpoint(settings) }),
});
await engine.resume();
for (const [run, input] of Object.entries(order.runs)) {
  await journal.create(run, input);
  await engine.start(run, input);
}
writeSync(1, "ready\n");
