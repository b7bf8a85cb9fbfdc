import type { RunStatus } from "@reins/ahp";
import { ManualClock } from "@reins/kit/manual-clock";
import { openSqlite, type Store } from "@reins/store";
import { describe, expect, test } from "vitest";
import type { Principal } from "../src/identity/principal.ts";
import { Runs } from "../src/runs/runs.ts";
import { runTables } from "../src/runs/tables.ts";
import { newHome } from "./fixtures/supervised.ts";

const ANN = { id: "ann", tenant: "default", user: "ann" };
const EVE = { ...ANN, id: "eve", user: "eve" };
const OPERATOR: Principal = {
  ...{ id: "local", tenant: "default", user: "operator", kind: "user" },
  ...{ roles: ["admin"], scopes: ["*"], agents: ["*"], started: "interactive" },
};

function lifecycle(run_id: string, status: RunStatus, second: number) {
  const time = new Date(1_700_000_000_000 + second * 1_000).toISOString();
  return { run_id, session_id: "main", status, started_at: time, updated_at: time };
}

async function openRuns() {
  const commits: number[] = [];
  const queries: string[] = [];
  const real = await openSqlite({ path: `${await newHome()}/runs.db`, tables: [runTables] });
  const store: Store = Object.assign(Object.create(real), {
    commit: (...args: Parameters<Store["commit"]>) => {
      commits.push(args[0].length);
      return real.commit(...args);
    },
    query: (...args: Parameters<Store["query"]>) => {
      queries.push(String(args[1]));
      return real.query(...args);
    },
  });
  const clock = new ManualClock();
  return { runs: new Runs(store, undefined, clock), clock, commits, queries, store: real, counted: store };
}

const statusOf = async (runs: Runs, run: string) =>
  (await runs.find(OPERATOR, run)).map(({ payload }) => Object(payload).status);

describe("Notes of a run", () => {
  test("of turns are stored together after a moment, without a query", async () => {
    const { runs, clock, commits, queries } = await openRuns();
    const relaxed = { relaxed: true };
    const notes = ["a", "b"].flatMap((run) => [
      runs.note(ANN, "run_lifecycle", lifecycle(run, "created", 1), { isNew: true, relaxed: true }),
      runs.note(ANN, "run_lifecycle", lifecycle(run, "executing", 2), relaxed),
      runs.note(ANN, "run_lifecycle", lifecycle(run, "completed", 3), relaxed),
    ]);
    expect({ commits, queries }).toEqual({ commits: [], queries: [] });
    clock.advance(20);
    await Promise.all(notes);
    expect({ commits, queries }).toEqual({ commits: [1], queries: [] });
    expect([await statusOf(runs, "a"), await statusOf(runs, "b")]).toEqual([["completed"], ["completed"]]);
    const { events } = await runs.events(OPERATOR, { after: 0, limit: 10 });
    expect(events.map(({ run_id, payload }) => `${run_id} ${Object(payload).status}`)).toEqual(
      ["a", "b"].flatMap((run) => ["created", "executing", "completed"].map((status) => `${run} ${status}`)),
    );
  });

  test("that wait are seen by every read, and by a note that does not wait", async () => {
    const { runs } = await openRuns();
    const waits = runs.note(ANN, "run_lifecycle", lifecycle("a", "created", 1), {
      isNew: true,
      relaxed: true,
    });
    expect(await statusOf(runs, "a")).toEqual(["created"]);
    await waits;
    const second = runs.note(ANN, "run_lifecycle", lifecycle("a", "executing", 2), { relaxed: true });
    await runs.note(ANN, "run_lifecycle", lifecycle("a", "completed", 3));
    await second;
    expect(await statusOf(runs, "a")).toEqual(["completed"]);
  });

  test("are checked against those that are not stored yet", async () => {
    const { runs } = await openRuns();
    const first = runs.note(ANN, "run_lifecycle", lifecycle("a", "completed", 1), {
      isNew: true,
      relaxed: true,
    });
    await expect(runs.note(ANN, "run_lifecycle", lifecycle("a", "executing", 2))).rejects.toThrow(
      "a run that is completed does not become executing",
    );
    await expect(runs.note(EVE, "run_lifecycle", lifecycle("a", "completed", 3))).rejects.toThrow(
      "belongs to another principal",
    );
    await first;
    expect(await statusOf(runs, "a")).toEqual(["completed"]);
    expect(await runs.faults(OPERATOR, "a")).toHaveLength(1);
  });

  test("of an unknown run are read once, and checked in the order of the calls", async () => {
    const { runs, counted, queries } = await openRuns();
    await runs.note(ANN, "run_lifecycle", lifecycle("a", "executing", 1), { isNew: true });
    const later = new Runs(counted);
    const notes = await Promise.allSettled([
      later.note(ANN, "run_lifecycle", lifecycle("a", "completed", 2)),
      later.note(ANN, "run_lifecycle", lifecycle("a", "failed", 3)),
    ]);
    expect(notes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(queries).toEqual(["find"]);
  });

  test("are all stored when the runs are closed", async () => {
    const { runs, store } = await openRuns();
    const note = runs.note(ANN, "run_lifecycle", lifecycle("a", "created", 1), {
      isNew: true,
      relaxed: true,
    });
    await runs.close();
    await note;
    expect(await statusOf(new Runs(store), "a")).toEqual(["created"]);
  });

  test("reject when the store does not take them, and are read anew afterwards", async () => {
    const { runs, store, clock } = await openRuns();
    await store.close();
    const note = runs.note(ANN, "run_lifecycle", lifecycle("a", "created", 1), {
      isNew: true,
      relaxed: true,
    });
    const rejected = expect(note).rejects.toThrow("closed");
    clock.advance(20);
    await rejected;
    await expect(runs.note(ANN, "run_lifecycle", lifecycle("a", "executing", 2))).rejects.toThrow("closed");
  });

  test("are forgotten after the retention time, oldest first, and their runs with the last of them", async () => {
    const { runs, clock } = await openRuns();
    await runs.note(ANN, "run_lifecycle", lifecycle("old", "completed", 1));
    clock.advance(60_000);
    const now = clock.now();
    await runs.note(ANN, "run_lifecycle", lifecycle("new", "completed", 2));
    await runs.prune(now);
    expect([await statusOf(runs, "old"), await statusOf(runs, "new")]).toEqual([[], ["completed"]]);
    // Nothing of it is remembered.
    await runs.note(EVE, "run_lifecycle", lifecycle("old", "created", 3));
    expect(await statusOf(runs, "old")).toEqual(["created"]);
  });
});
