import { JournalEngine } from "../src/engine/journal-engine.ts";
import { runGraph } from "../src/run/schedule.ts";
import { type RunResult, sendControl } from "../src/run/schedule-ports.ts";
import { randomRun } from "./random-run.ts";

/** A random run, by its seed. */
interface SeededRun {
  readonly id: string;
  readonly seed: number;
  readonly actions: number;
}

/** What a run comes to without a kill, and the keys of its effects. */
export async function wholeRun({
  id,
  seed,
  actions,
}: SeededRun): Promise<{ result: RunResult; keys: string[] }> {
  const run = randomRun(seed, { actions });
  const keys: string[] = [];
  const engine: JournalEngine<null, RunResult> = new JournalEngine({
    orchestrate: (_, scope) =>
      runGraph(run.graph, scope, {
        parallel: run.parallel,
        writesOf: (action) => run.writes.get(action.id) ?? [],
        attempt: async ({ action, key }) => {
          keys.push(key);
          return run.attempt(action.id, Number(key.split("/").at(-1))).attempt;
        },
        onChange: (change) => {
          if (!("action" in change)) return;
          const { id: action, status, attempts } = change.action;
          const { failure } = run.graph.actions.find((one) => one.id === action) ?? {};
          if (status === "failed" && failure?.on_failure === "ask_model")
            void sendControl(engine, id, run.decide(action, attempts));
        },
      }),
  });
  await engine.start(id, null);
  return { result: await engine.ended(id), keys };
}

/** A result as JSON, without what depends on which of two obstacles was there first. */
export function comparable(result: unknown): unknown {
  const { status, actions = [] }: Partial<RunResult> = JSON.parse(JSON.stringify(result ?? {}));
  return {
    status,
    actions: actions.map((state) => (state.status === "canceled" ? { ...state, reason: "" } : state)),
  };
}
