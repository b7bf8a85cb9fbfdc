import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { engineConformance } from "../../test/engine-conformance.ts";
import { MortalJournal } from "../../test/mortal-journal.ts";
import type { RunScope } from "./engine.ts";
import { JournalEngine } from "./journal-engine.ts";

engineConformance("The engine with a journal in memory", async () => {
  const journal = new MortalJournal<unknown, unknown>();
  return {
    open: async (orchestrate) => new JournalEngine({ orchestrate, journal }),
    kill: (engine) => engine.close(),
  };
});

test("A timer that began before a stop is waited for no longer than its rest", async () => {
  const journal = new MortalJournal<unknown, unknown>();
  const clock = new ManualClock();
  const orchestrate = async (_: unknown, { sleep }: RunScope) => {
    await sleep("timer", 1_000);
    return "over";
  };
  const first = new JournalEngine({ orchestrate, journal, clock });
  await first.start("run", null);
  await expect.poll(() => clock.waiting).toBe(1);
  await first.close();
  clock.advance(900);
  const second = new JournalEngine({ orchestrate, journal, clock });
  await second.resume();
  await expect.poll(() => clock.waiting).toBe(1);
  clock.advance(99);
  expect(await second.find("run")).toEqual({ state: "running" });
  clock.advance(1);
  expect(await second.ended("run")).toBe("over");
});

test("A timer is waited for no longer where the clock is set back", async () => {
  const clock = new ManualClock();
  const orchestrate = async (_: unknown, { sleep }: RunScope) => {
    await sleep("timer", 1_000);
    return "over";
  };
  let back = 0;
  const moved = { now: () => new Date(clock.now().getTime() - back), after: clock.after.bind(clock) };
  const engine = new JournalEngine<null, string>({ orchestrate, clock: moved });
  await engine.start("run", null);
  await expect.poll(() => clock.waiting).toBe(1);
  back = 86_400_000;
  clock.advance(1_000);
  expect(await engine.ended("run")).toBe("over");
});

/** A journal whose reads can be held back, with what they found. */
class SlowJournal extends MortalJournal<unknown, unknown> {
  hold: Promise<void> | undefined;

  override async load(run: string) {
    const { hold } = this;
    const found = await super.load(run);
    const copy = found && { ...found, entries: new Map(found.entries) };
    await hold;
    return copy;
  }
}

test("What was read of a run before another call reopened it, which has ended again, is read once more", async () => {
  const journal = new SlowJournal();
  const orchestrate = async (_: unknown, { receive, hasReceived }: RunScope) => {
    const values: unknown[] = [];
    while (hasReceived("more")) values.push(await receive("more"));
    return values;
  };
  const engine = new JournalEngine({ orchestrate, journal });
  await engine.start("run", null);
  expect(await engine.ended("run")).toEqual([]);
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  journal.hold = hold;
  const late = engine.send("run", "more", "b", { reopen: true });
  journal.hold = undefined;
  expect(await engine.send("run", "more", "a", { reopen: true })).toBe(true);
  expect(await engine.ended("run")).toEqual(["a"]);
  release();
  expect(await late).toBe(true);
  expect(await engine.ended("run")).toEqual(["a", "b"]);
});

test("What was read of a run before another call carried it to its end is not carried again", async () => {
  const journal = new SlowJournal();
  let effects = 0;
  const orchestrate = async (_: unknown, { step }: RunScope) => step("one", async () => (effects += 1));
  await journal.create("run", null);
  const engine = new JournalEngine({ orchestrate, journal });
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  journal.hold = hold;
  const late = engine.resume();
  await expect.poll(() => journal.unfinished()).toEqual(["run"]);
  journal.hold = undefined;
  await engine.start("run", null);
  expect(await engine.ended("run")).toBe(1);
  release();
  await late;
  expect([await engine.ended("run"), effects]).toEqual([1, 1]);
});

test("A run begins once it is stored, and does not begin where it cannot be", async () => {
  const order: string[] = [];
  class FullJournal extends MortalJournal<unknown, unknown> {
    override async create(run: string, input: unknown) {
      await new Promise((resolve) => setImmediate(resolve));
      if (run === "none") throw new Error("the disk is full");
      await super.create(run, input);
      order.push(`stored ${run}`);
    }
  }
  const orchestrate = async (_: unknown, { run, step }: RunScope) =>
    step("one", async () => order.push(`done ${run}`));
  const engine = new JournalEngine({ orchestrate, journal: new FullJournal() });
  await expect(engine.start("none", null)).rejects.toThrow("the disk is full");
  await engine.start("run", null);
  await engine.ended("run");
  expect(order).toEqual(["stored run", "done run"]);
});

test("Without a journal a run lives as long as its engine", async () => {
  const engine = new JournalEngine<number, number>({
    orchestrate: async (input, { step }) => step("one", async () => input + 1),
  });
  await engine.start("run", 1);
  expect(await engine.ended("run")).toBe(2);
  await engine.resume();
  expect(await engine.find("run")).toEqual({ state: "ended", result: 2 });
  expect(await new JournalEngine({ orchestrate: async () => 0 }).find("run")).toBeUndefined();
});
