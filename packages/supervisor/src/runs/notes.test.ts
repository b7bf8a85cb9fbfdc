import type { RunLifecycleEvent, RunStatus, TaskListEvent } from "@reins/ahp";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import type { Store } from "@reins/store";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lifecycleFault, type RunReporter, Runs } from "./runs.ts";
import type { RunEvent, RunNote, RunState } from "./tables.ts";

const ann: RunReporter = { id: "tok_ann", tenant: "acme", user: "ann" };
const bob: RunReporter = { id: "tok_bob", tenant: "acme", user: "bob" };
const START = Date.parse("2026-01-01T00:00:00Z");

const lifecycle = (status: RunStatus, second = 0, run_id = "r"): RunLifecycleEvent => ({
  ...{ run_id, session_id: "s", status },
  updated_at: new Date(START + second * 1_000).toISOString(),
});

const tasks = (title: string): TaskListEvent => ({
  ...{ run_id: "r", session_id: "s", updated_at: new Date(START).toISOString() },
  tasks: [{ id: "1", title, status: "pending", depends_on: [], evidence: [], artifacts: [] }],
});

/** Runs in front of a store that keeps the states in memory, and that can be held or made to fail. */
function openRuns(stored: readonly RunState[] = []) {
  const states = new Map(stored.map((state) => [`${state.run_id} ${state.contract}`, state]));
  const commits: (readonly RunNote[])[] = [];
  const finds: string[] = [];
  const disk: { gate: Promise<void>; fails: boolean } = { gate: Promise.resolve(), fails: false };
  const store = {
    async commit([{ args }]: readonly [{ readonly args: { readonly notes: readonly RunNote[] } }]) {
      await disk.gate;
      if (disk.fails) throw new Error("the disk is full");
      commits.push(args.notes);
      for (const { state, fault } of args.notes)
        if (fault === null) states.set(`${state.run_id} ${state.contract}`, state);
      return [undefined];
    },
    async query(_: unknown, name: string, range: { readonly run_id: string } | null) {
      if (!range) return 0;
      finds.push(`${name} ${range.run_id}`);
      return [...states.values()].filter(({ run_id }) => run_id === range.run_id);
    },
  };
  const clock = new ManualClock();
  const runs = new Runs(store as unknown as Store, (value) => value, clock);
  const note = (status: RunStatus, second = 0, by = ann) =>
    runs.note(by, "run_lifecycle", lifecycle(status, second));
  return { runs, note, commits, finds, disk, clock, states };
}

/** What becomes of a promise: `stored`, or why not. */
const outcome = (noting: Promise<unknown>): Promise<string> =>
  noting.then(
    () => "stored",
    (error: unknown) => String(Reflect.get(Object(error), "message")),
  );

describe("a run", () => {
  test("is read from the store once, for all reports that arrive together", async () => {
    const { note, finds, commits } = openRuns();
    await Promise.all([note("created", 1), note("executing", 2), note("completed", 3)]);
    expect(finds).toEqual(["find r"]);
    expect(commits.flat().map(({ state }) => Object(state.payload).status)).toEqual([
      "created",
      "executing",
      "completed",
    ]);
  });

  test("that the harness has just begun is not looked up", async () => {
    const { runs, finds } = openRuns();
    await runs.note(ann, "run_lifecycle", lifecycle("created"), { isNew: true });
    expect(finds).toEqual([]);
  });

  test("of another is refused without a trace, and the operator may report any", async () => {
    const { note, commits } = openRuns();
    await note("created", 1);
    expect(await outcome(note("executing", 2, bob))).toContain("belongs to another principal");
    expect(commits.flat()).toHaveLength(1);
    expect(await outcome(note("executing", 2, { ...bob, id: "local" }))).toBe("stored");
    expect(await outcome(note("completed", 3, { ...ann, id: "another token of ann" }))).toBe("stored");
  });

  test("keeps its owner when the operator reports it", async () => {
    const { note, states } = openRuns();
    await note("created", 1);
    await note("executing", 2, { ...bob, id: "local" });
    expect(states.get("r run_lifecycle")).toMatchObject({ principal: "tok_ann", user: "ann" });
  });

  test("that has failed goes on only where the harness itself continues it", async () => {
    const { runs, note } = openRuns();
    await note("failed", 1);
    expect(await outcome(note("executing", 2))).toContain("a run that is failed does not become executing");
    const again = runs.note(ann, "run_lifecycle", lifecycle("executing", 2), { isReopened: true });
    expect(await outcome(again)).toBe("stored");
    await note("completed", 3);
    const after = runs.note(ann, "run_lifecycle", lifecycle("executing", 4), { isReopened: true });
    expect(await outcome(after)).toContain("a run that is completed does not become executing");
  });
});

describe("a report that is refused", () => {
  test("is stored and published with its fault, and the state stays", async () => {
    const { runs, note, commits, states } = openRuns();
    const heard: Omit<RunEvent, "seq">[] = [];
    runs.subscribe((event) => heard.push(event));
    await note("completed", 1);
    expect(await outcome(note("executing", 2))).toContain("run_lifecycle of run r: a run that is completed");
    expect(commits.flat().map(({ fault }) => fault === null)).toEqual([true, false]);
    expect(heard.map(({ fault }) => fault === null)).toEqual([true, false]);
    expect(Object(states.get("r run_lifecycle")?.payload).status).toBe("completed");
  });

  test("under one contract is no fault of another", async () => {
    const { runs, note } = openRuns();
    await note("completed", 1);
    await outcome(note("executing", 2));
    expect(await outcome(runs.note(ann, "task_list", tasks("look")))).toBe("stored");
  });
});

test("a report of this machine whose clock was set back counts, with the time of the one before", async () => {
  const { runs, note } = openRuns();
  await note("created", 5);
  expect(await outcome(note("executing", 2))).toContain("older than what is known");
  const own = runs.note(ann, "run_lifecycle", lifecycle("executing", 2), { isOwn: true });
  expect((await own).updated_at).toBe(lifecycle("executing", 5).updated_at);
  expect(await outcome(note("planning", 6))).toBe("stored");
});

describe("a store that fails", () => {
  test("rejects the report, and the next one is checked against what is stored", async () => {
    const { note, disk, finds } = openRuns();
    await note("created", 1);
    disk.fails = true;
    expect(await outcome(note("executing", 5))).toBe("the disk is full");
    disk.fails = false;
    // Held against the report that was lost, this one would be older than what is known.
    expect(await outcome(note("planning", 2))).toBe("stored");
    expect(finds).toEqual(["find r", "find r"]);
  });

  test("publishes nothing", async () => {
    const { runs, note, disk } = openRuns();
    let heard = 0;
    runs.subscribe(() => {
      heard += 1;
    });
    disk.fails = true;
    await outcome(note("created"));
    expect(heard).toBe(0);
  });
});

describe("relaxed reports", () => {
  const relaxed = { relaxed: true } as const;

  test("wait for each other, and are stored in one commit", async () => {
    const { runs, commits, clock } = openRuns();
    const noting = [1, 2, 3].map((second) =>
      runs.note(ann, "run_lifecycle", lifecycle("executing", second), relaxed),
    );
    await settled();
    expect([commits.length, clock.waiting]).toEqual([0, 1]);
    await clock.advanceAndSettle(20);
    await Promise.all(noting);
    expect(commits.map(({ length }) => length)).toEqual([3]);
  });

  test("go with the first report that does not wait, before it", async () => {
    const { runs, note, commits, clock } = openRuns();
    const first = runs.note(ann, "run_lifecycle", lifecycle("created", 1), relaxed);
    await settled();
    await Promise.all([first, note("executing", 2)]);
    expect(commits.map((notes) => notes.map(({ state }) => Object(state.payload).status))).toEqual([
      ["created", "executing"],
    ]);
    expect(clock.waiting).toBe(0);
  });

  test("are stored without waiting once there are many", async () => {
    const { runs, commits } = openRuns();
    const many = Array.from({ length: 256 }, (_, second) =>
      runs.note(ann, "run_lifecycle", lifecycle("executing", second), relaxed),
    );
    await Promise.all(many);
    expect(commits.map(({ length }) => length)).toEqual([256]);
  });

  test("are stored when runs are closed, and by whatever is read", async () => {
    const { runs, commits } = openRuns();
    const first = runs.note(ann, "run_lifecycle", lifecycle("created", 1), relaxed);
    await settled();
    await runs.close();
    await first;
    const second = runs.note(ann, "run_lifecycle", lifecycle("executing", 2), relaxed);
    await settled();
    await runs.lastEvent();
    await second;
    expect(commits.map(({ length }) => length)).toEqual([1, 1]);
  });
});

test("a subscriber that throws keeps no other from the news, and one that left gets none", async () => {
  const { runs, note } = openRuns();
  const heard: string[] = [];
  runs.subscribe(() => {
    throw new Error("mine");
  });
  const leave = runs.subscribe(({ run_id }) => heard.push(`first ${run_id}`));
  runs.subscribe(({ run_id }) => heard.push(`second ${run_id}`));
  await note("created", 1);
  leave();
  await note("executing", 2);
  expect(heard).toEqual(["first r", "second r", "second r"]);
});

test("whatever is reported in whatever order, the stored state is that of the last report without a fault", async () => {
  const statuses = ["created", "planning", "executing", "verifying", "completed", "failed"] as const;
  const report = fc.record({
    status: fc.constantFrom<RunStatus>(...statuses),
    second: fc.nat({ max: 5 }),
    relaxed: fc.boolean(),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(report, { maxLength: 12 }), async (reports) => {
      const { runs, states, disk, clock } = openRuns();
      let last: RunLifecycleEvent | undefined;
      for (const { status, second, relaxed, fails } of reports) {
        const given = lifecycle(status, second);
        disk.fails = fails;
        const noting = outcome(runs.note(ann, "run_lifecycle", given, { relaxed }));
        await clock.advanceAndSettle(20);
        const fault = lifecycleFault(last, given);
        const expected = fails ? "the disk is full" : fault ? `run_lifecycle of run r: ${fault}` : "stored";
        expect(await noting).toBe(expected);
        if (expected === "stored") last = given;
      }
      expect(states.get("r run_lifecycle")?.payload).toEqual(last);
    }),
    { numRuns: 200 },
  );
});
