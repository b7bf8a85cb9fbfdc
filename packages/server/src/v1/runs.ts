import { runOperations } from "@reins/api";
import type { RunState } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";

/** Runs as they stand. */
export const runsDialect: Dialect = {
  name: "runs",
  mount(place) {
    place.governed(runOperations.listRuns, async ({ query, principal, harness }) => {
      const states = await harness.runs.list(principal, query.session);
      return { runs: runsIn(states) };
    });
    place.governed(runOperations.getRun, async ({ params: { id }, principal, harness }) => {
      const [run] = runsIn(await harness.runs.find(principal, id));
      if (!run) throw new Refusal("not_found", `there is no run ${id}`);
      return run;
    });
  },
};

/** The states of each run as one, in the order in which they come. */
function runsIn(states: readonly RunState[]): object[] {
  const byRun = Map.groupBy(states, ({ run_id }) => run_id);
  return [...byRun].map(([run_id, all]) => {
    const times = all.map(({ updated_at }) => updated_at);
    const contracts = Object.fromEntries(all.map(({ contract, payload }) => [contract, payload]));
    return { run_id, session_id: all[0]?.session_id, updated_at: times.toSorted().at(-1), ...contracts };
  });
}
