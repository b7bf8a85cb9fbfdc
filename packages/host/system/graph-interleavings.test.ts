import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ProjectedRun } from "@reins/graph";
import { StoreError } from "@reins/store";
import { describe, expect, test, vi } from "vitest";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import { openGraphHome } from "./fixtures/graph-home.ts";

type Home = Awaited<ReturnType<typeof openGraphHome>>;

const passes = (id: string) => ({ id, executor: { type: "runtime", target: "checkpoint" } });
const fails = (id: string, more: object = {}) => ({
  ...{ id, executor: { type: "tool", target: "read_file" }, input: { path: "none.txt" } },
  ...more,
});

/** Has commits take any time, and some of them find no room where `room` is low; those of the caller keep their order. */
function slowDown({ harness: { store } }: Home, random: Random, room: () => number): void {
  const commit = store.commit.bind(store);
  let last: Promise<unknown> = Promise.resolve();
  const slow = async (...given: Parameters<typeof commit>) => {
    const before = last;
    const isFull = !random.chance(room());
    const turns = random.int(6);
    const committing = (async () => {
      await before;
      if (turns > 2) await pause(turns - 2);
      if (isFull) throw new StoreError("full", "the disk is full; make room");
      return commit(...given);
    })();
    last = committing.catch(() => undefined);
    return committing;
  };
  vi.spyOn(store, "commit").mockImplementation(slow as never);
}

/** What was accepted of all that was tried with a run. */
interface Accepted {
  readonly revisions: string[];
  isCanceled: boolean;
}

/** Changes a run at any moment, in any way, several ways at once. */
async function disturb(
  { hosting: { graphs }, principal }: Home,
  id: string,
  random: Random,
): Promise<Accepted> {
  const accepted: Accepted = { revisions: [], isCanceled: false };
  const known = ["a", "b", "c"];
  const acts: readonly ((index: number) => Promise<unknown>)[] = [
    () => graphs.decide(principal, id, { action: random.pick(known), decision: "retry" }),
    () => graphs.decide(principal, id, { action: random.pick(known), decision: "continue" }),
    () => graphs.decide(principal, id, { action: random.pick(known), decision: "abort" }),
    () => graphs.cancel(principal, id, [random.pick(known)]),
    async (index) => {
      const added = `r${index}`;
      const action = random.chance(0.5)
        ? passes(added)
        : fails(added, { failure_policy: random.pick(["abort", "ask_model"]) });
      await graphs.start(principal, {
        declaration: {
          ...{ type: "agent.protocol", version: "1", intent: "revise" },
          payload: { run_id: id, actions: [action] },
        },
      });
      accepted.revisions.push(added);
    },
    async (index) => {
      if (index < 6) return;
      accepted.isCanceled ||= (await graphs.cancel(principal, id)).status === "canceled";
    },
    () => graphs.prune(new Date(0)),
  ];
  const trying = Array.from({ length: 9 }, async (_, index) => {
    await pause(random.int(5) * random.int(12));
    await random
      .pick(acts)(index)
      .catch(() => undefined);
  });
  await Promise.all(trying);
  return accepted;
}

/** Starts runs that are disturbed once all have begun, at the same time; returns what was accepted, by run. */
async function storm(
  home: Home,
  { seed, runs, begun }: { seed: number; runs: number; begun?: () => void },
): Promise<ReadonlyMap<string, Accepted>> {
  const random = seededRandom(seed);
  const ids = Array.from({ length: runs }, (_, index) => `run-${seed}-${index}`);
  const starting = ids.map((id) => {
    const policy = random.pick(["abort", "ask_model", "continue"]);
    const actions = [
      passes("a"),
      fails("b", { failure_policy: policy }),
      { ...passes("c"), depends_on: ["b"] },
    ];
    return home.start(actions, { run_id: id }, { persist: random.chance(0.7) });
  });
  const disturbing = ids.map(async (id, index) => {
    if (begun) await Promise.all(starting);
    else await starting[index];
    return [id, await disturb(home, id, random)] as const;
  });
  await Promise.all(starting);
  begun?.();
  return new Map(await Promise.all(disturbing));
}

/** The end of a run; one that waits for a decision is aborted. */
async function settled({ get, hosting: { graphs }, principal }: Home, id: string): Promise<ProjectedRun> {
  await expect
    .poll(
      async () => {
        const { ended_at, actions } = await get(id);
        const failed = actions.filter(({ status }) => status === "failed");
        const abort = ({ id: action }: { id: string }) =>
          graphs.decide(principal, id, { action, decision: "abort" }).catch(() => undefined);
        if (ended_at === undefined) await Promise.all(failed.map(abort));
        return ended_at;
      },
      { timeout: 60_000 },
    )
    .toBeDefined();
  return get(id);
}

/** Holds a run that was disturbed to what was accepted. */
function check(run: ProjectedRun, { revisions, isCanceled }: Accepted): void {
  const ids = run.actions.map(({ id }) => id);
  // What was revised in the moment in which it was canceled may not have been taken.
  if (run.status !== "canceled")
    expect(ids, `${run.run_id}: what was accepted is in it`).toEqual(expect.arrayContaining([...revisions]));
  expect(
    run.actions.filter(({ status }) => !["completed", "failed", "canceled", "blocked"].includes(status)),
  ).toEqual([]);
  if (isCanceled) expect(run.status, run.run_id).toBe("canceled");
}

describe("runs that are decided about, revised and canceled at any moment, in several ways at once", () => {
  test.each([1, 2])(
    "end as what was accepted says, are stored so, and leave nothing behind: seed %i",
    async (seed) => {
      const RUNS = 8;
      const home = await openGraphHome({ graphs: { open: RUNS } });
      slowDown(home, seededRandom(seed), () => 1);
      const accepted = await storm(home, { seed, runs: RUNS });
      const ends: ProjectedRun[] = [];
      for (const [id, what] of accepted) {
        const run = await settled(home, id);
        check(run, what);
        ends.push(run);
        expect(await home.harness.runs.faults(home.principal, id), id).toEqual([]);
      }
      expect([...accepted.values()].some(({ revisions }) => revisions.length > 0)).toBe(true);
      // None of them counts as open any more.
      await Promise.all(
        Array.from({ length: RUNS }, (_, index) => home.start([passes("a")], { run_id: `after-${index}` })),
      );
      expect(home.errors).toEqual([]);
      await home.close();
      const again = await openGraphHome({ folder: dirname(home.home) });
      for (const end of ends) expect(await again.get(end.run_id)).toEqual(end);
    },
  );

  test("do so where the disk is full now and then", async () => {
    const home = await openGraphHome();
    let room = 1;
    slowDown(home, seededRandom(7), () => room);
    const begun = () => {
      room = 0.8;
    };
    const accepted = await storm(home, { seed: 7, runs: 6, begun });
    room = 1;
    for (const [id, what] of accepted) check(await settled(home, id), what);
  });
});

test("a run that is forgotten while it is decided about is gone, or goes on; never both", async () => {
  const home = await openGraphHome();
  const { hosting, principal } = home;
  slowDown(home, seededRandom(3), () => 1);
  const ids = Array.from({ length: 16 }, (_, index) => `run-${index}`);
  for (const id of ids) await home.run([fails("a")], { run_id: id }, { persist: true });
  const random = seededRandom(5);
  const deciding = ids.map(async (id) => {
    await pause(random.int(40));
    const decided = hosting.graphs.decide(principal, id, { action: "a", decision: "retry" });
    return decided.then(
      () => true,
      () => false,
    );
  });
  await pause(random.int(20));
  await hosting.graphs.prune(new Date(Date.now() + 60_000));
  const continued = await Promise.all(deciding);
  expect(new Set(continued)).toEqual(new Set([true, false]));
  for (const [index, id] of ids.entries()) {
    if (continued[index])
      expect(await home.ended(id)).toMatchObject({ status: "failed", actions: [{ attempts: 2 }] });
    else await expect(home.get(id)).rejects.toThrow(/there is no run/);
  }
});

test("a run has no more actions than may be, also where it is revised in several ways at once", async () => {
  const home = await openGraphHome();
  slowDown(home, seededRandom(11), () => 1);
  const { run_id } = await home.run([fails("a")], {}, { persist: true });
  const revising = Array.from({ length: 3 }, (_, index) => {
    const actions = Array.from({ length: 450 }, (_item, number) => fails(`r${index}-${number}`));
    const payload = { run_id, actions };
    const declaration = { type: "agent.protocol", version: "1", intent: "revise", payload };
    return home.hosting.graphs.start(home.principal, { declaration });
  });
  const ends = await Promise.allSettled(revising);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect((await home.get(run_id)).actions.length).toBeLessThanOrEqual(1_000);
  await home.hosting.graphs.cancel(home.principal, run_id);
});
