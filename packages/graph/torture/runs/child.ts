// Continues durable runs until each has made so many steps, then kills itself without warning.
import { writeSync } from "node:fs";
import { change, openSqlite } from "@reins/store";
import { JournalEngine } from "../../src/engine/journal-engine.ts";
import { StoreJournal } from "../../src/engine/store-journal.ts";
import { graphTables } from "../../src/engine/tables.ts";
import { runGraph } from "../../src/run/schedule.ts";
import { type RunResult, sendControl } from "../../src/run/schedule-ports.ts";
import { type RandomRun, randomRun } from "../../test/random-run.ts";
import { effects } from "./effects.ts";
import type { RunsOrder, RunsReport } from "./order.ts";

const order: RunsOrder = JSON.parse(process.argv[2] ?? "");
// A process whose parent is gone has no work left.
process.stdin.on("end", () => process.exit(1)).resume();

const say = (report: RunsReport) => writeSync(1, `${JSON.stringify(report)}\n`);
const store = await openSqlite({ path: order.path, tables: [graphTables, effects] });

/** Runs that have neither ended nor come to where they are cut. */
const going = new Set<string>();
/** How many steps of each run were begun, how many are stored, and which runs wait to be cut. */
const begun = new Map<string, number>();
const kept = new Map<string, number>();
const cuts = new Set<string>();

/** A journal that knows how many steps were stored. */
class CountingJournal extends StoreJournal<string, RunResult> {
  override async append(...[run, name, value, how]: Parameters<StoreJournal<string, RunResult>["append"]>) {
    await super.append(run, name, value, how);
    if (/^a\d+\/\d+$/.test(name)) kept.set(run, (kept.get(run) ?? 0) + 1);
    leaveIfCut(run);
  }
}

const journal = new CountingJournal(store);
const runs = new Map<string, RandomRun>(
  order.runs.map(({ id, seed, actions }) => [id, randomRun(seed, { actions })]),
);
const stored = new Map<string, ReadonlyMap<string, unknown>>();
for (const id of runs.keys()) stored.set(id, (await journal.load(id))?.entries ?? new Map());

for (const id of runs.keys()) going.add(id);

function leave(run: string): void {
  going.delete(run);
  if (going.size === 0 && order.isKilled) process.kill(process.pid, "SIGKILL");
}

/** A run is cut once the steps before the cut are stored. */
function leaveIfCut(run: string): void {
  if (cuts.has(run) && (kept.get(run) ?? 0) >= order.steps) leave(run);
}

/** Waits for the kill. */
function cut(run: string): Promise<never> {
  cuts.add(run);
  leaveIfCut(run);
  return new Promise(() => undefined);
}

const engine = new JournalEngine<string, RunResult>({
  journal,
  orchestrate: (id, scope) => {
    const run = runs.get(id);
    if (!run) throw new Error(`there is no run ${id}`);
    const decided = new Set(
      [...(stored.get(id) ?? [])].flatMap(([name, value]) =>
        name.startsWith("sent/") ? [`${Object(value).action}/${Object(value).attempts}`] : [],
      ),
    );
    return runGraph(run.graph, scope, {
      parallel: run.parallel,
      writesOf: (action) => run.writes.get(action.id) ?? [],
      attempt: async ({ action, key }) => {
        const name = key.slice(id.length + 1);
        if (stored.get(id)?.has(name)) say({ kind: "repeated", key });
        const steps = begun.get(id) ?? 0;
        begun.set(id, steps + 1);
        const isCut = order.isKilled && steps >= order.steps;
        if (isCut && order.cut === "before") await cut(id);
        await store.commit([change(effects, "effect", { key })]);
        if (isCut) await cut(id);
        return run.attempt(action.id, Number(name.split("/").at(-1))).attempt;
      },
      onChange: (changed) => {
        if (!("action" in changed)) return;
        const { id: action, status, attempts } = changed.action;
        const isAsked = run.graph.actions.some(
          (one) => one.id === action && one.failure.on_failure === "ask_model",
        );
        if (status !== "failed" || !isAsked || decided.has(`${action}/${attempts}`)) return;
        decided.add(`${action}/${attempts}`);
        void sendControl(engine, id, run.decide(action, attempts));
      },
    });
  },
});

for (const id of runs.keys()) {
  await engine.start(id, id);
  void engine.ended(id).then((result) => {
    say({ kind: "ended", run: id, result });
    leave(id);
  });
}
await Promise.all([...runs.keys()].map((id) => engine.ended(id)));
if (order.isKilled) process.kill(process.pid, "SIGKILL");
await store.close();
process.exit(0);
