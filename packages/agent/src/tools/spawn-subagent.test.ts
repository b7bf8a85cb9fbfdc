import { expect, it } from "vitest";
import { PausableTimeout } from "./spawn-subagent.ts";

/** A manual timer source. */
function watch() {
  let now = 0;
  const due = new Map<() => void, number>();
  return {
    now: () => now,
    after: (milliseconds: number, run: () => void) => {
      due.set(run, now + milliseconds);
      return () => void due.delete(run);
    },
    pass(milliseconds: number) {
      now += milliseconds;
      for (const [run, at] of due) if (at <= now) run();
    },
  };
}

it("a pausable timeout aborts after its time", () => {
  const passing = watch();
  const time = new PausableTimeout(100, passing);
  passing.pass(99);
  expect(time.signal.aborted).toBe(false);
  passing.pass(1);
  expect(time.signal.aborted).toBe(true);
});

it("a pausable timeout does not count pauses", () => {
  const passing = watch();
  const time = new PausableTimeout(100, passing);
  passing.pass(60);
  time.pause();
  time.pause();
  passing.pass(1_000);
  time.resume();
  time.resume();
  passing.pass(39);
  expect(time.signal.aborted).toBe(false);
  passing.pass(1);
  expect(time.signal.aborted).toBe(true);
});

it("a pausable timeout never aborts once cancelled", () => {
  const passing = watch();
  const time = new PausableTimeout(100, passing);
  time.cancel();
  time.resume();
  passing.pass(1_000);
  expect(time.signal.aborted).toBe(false);
});
