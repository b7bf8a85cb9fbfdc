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
