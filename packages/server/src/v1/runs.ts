import { graphOperations, Run, runOperations, RunEvent as ShownRunEvent } from "@reins/api";
import type { Hosting } from "@reins/host";
import { declaredRunTables } from "@reins/host/tables";
import type { Harness, Principal, RunEvent, RunState } from "@reins/supervisor";
import type { z } from "zod";
import { required } from "../access/authenticator.ts";
import { HttpProblem } from "../problems.ts";
import { follow, type Growing } from "../routes/follow.ts";
import { type AuthorizedCall, conforming, eventText, type Routes } from "../routes/router.ts";

const PAGE = 100;
const MOST_RUNS = 1_000;

type StreamRunsCall = AuthorizedCall<(typeof runOperations)["streamRuns"]>;

/** Runs and their events. */
export const runRoutes: Routes = {
  name: "runs",
  mount(router) {
    router.handle(runOperations.listRuns, async ({ query, principal, harness }) => {
      const { session, after, limit = MOST_RUNS } = query;
      // One more, to know whether there are more.
      const found = runsIn(await harness.runs.list(principal, session, { after, limit: limit + 1 }));
      if (
        after !== undefined &&
        found.length === 0 &&
        (await harness.runs.find(principal, after)).length === 0
      )
        throw new HttpProblem("invalid", `there is no run ${after} to go on after`);
      const runs = await withGraphs(found.slice(0, limit), principal, harness);
      return { runs, ...(found.length > limit && { next: runs.at(-1)?.run_id }) };
    });
    router.stream(runOperations.streamRuns, (call, open) => follow(call, open, eventsOf(call)));
    router.handle(
      runOperations.listRunEvents,
      async ({ params: { id }, query, principal, harness: { runs } }) => {
        const { limit = PAGE, after = 0 } = query;
        // One more, to know whether there are more.
        const { events } = await runs.events(principal, { run: id, after, limit: limit + 1 });
        if (events.length === 0 && (await runs.find(principal, id)).length === 0)
          throw new HttpProblem("not_found", `there is no run ${id}`);
        const shown = events.slice(0, limit);
        return { events: shown.map(shownEvent), ...(events.length > limit && { next: shown.at(-1)?.seq }) };
      },
    );
    router.handle(runOperations.getRun, async ({ params: { id }, principal, harness }) => {
      const found = runsIn(await harness.runs.find(principal, id));
      const [run] = await withGraphs(found, principal, harness);
      if (!run) throw new HttpProblem("not_found", `there is no run ${id}`);
      return run;
    });
  },
};

/** Runs of action graphs. */
export function graphRoutes(hosting: () => Promise<Hosting>): Routes {
  return {
    name: "graphs",
    mount(router) {
      router.handle(graphOperations.startRun, async ({ body, principal }) => {
        const { graphs } = await required(hosting);
        return graphs.start(principal, body);
      });
      router.handle(graphOperations.getRunGraph, async ({ params: { id }, principal }) => {
        const { graphs } = await required(hosting);
        return graphs.get(principal, id);
      });
      router.handle(graphOperations.cancelRun, async ({ params: { id }, body, principal }) => {
        const { graphs } = await required(hosting);
        return graphs.cancel(principal, id, body.actions);
      });
      router.handle(graphOperations.decideRun, async ({ params: { id }, body, principal }) => {
        const { graphs } = await required(hosting);
        return graphs.decide(principal, id, body);
      });
      router.handle(graphOperations.expandRunRef, async ({ params: { id }, body, principal }) => {
        const { graphs } = await required(hosting);
        const { ref, match, ...range } = body;
        return graphs.expand(principal, id, ref, { ...range, around_matches: match });
      });
    },
  };
}

/** Groups states by run. */
function runsIn(states: readonly RunState[]): z.input<typeof Run>[] {
  const byRun = Map.groupBy(states, ({ run_id }) => run_id);
  return [...byRun].map(([run_id, all]) => {
    const times = all.map(({ updated_at }) => updated_at);
    const contracts = Object.fromEntries(all.map(({ contract, payload }) => [contract, payload]));
    const updated_at = times.toSorted().at(-1);
    const { graph } = Object(Object(Object(contracts).run_lifecycle).metadata);
    const has_graph = graph === true ? { has_graph: true } : {};
    return conforming(Run, {
      ...has_graph,
      run_id,
      session_id: all[0]?.session_id,
      updated_at,
      ...contracts,
    });
  });
}

/** Says of each run whether it has a graph. */
async function withGraphs(
  runs: readonly z.input<typeof Run>[],
  { tenant }: Principal,
  { store }: Harness,
): Promise<z.input<typeof Run>[]> {
  const ids = runs.map(({ run_id }) => run_id);
  const graphs = new Set(await store.query(declaredRunTables, "withGraph", { tenant, runs: ids }));
  return runs.map((run) => ({ ...run, has_graph: graphs.has(run.run_id) }));
}

/** The events of runs that the caller may see. */
function eventsOf({ query, principal, harness: { runs } }: StreamRunsCall): Growing {
  return {
    newest: () => runs.lastEvent(),
    subscribe: (wake) =>
      runs.subscribe(({ tenant }) => {
        if (tenant === principal.tenant) wake();
      }),
    after: async (after, now) => {
      const { events, seen } = await runs.events(now, { ...query, after, limit: PAGE });
      const texts = events.map((event) => eventText(runOperations.streamRuns, event.seq, shownEvent(event)));
      return { texts, position: seen, more: events.length === PAGE };
    },
  };
}

function shownEvent({ seq, run_id, session_id, contract, at, payload, fault }: RunEvent) {
  return conforming(ShownRunEvent, { seq, run_id, session_id, contract, at, payload, fault });
}
