import { expect, test } from "vitest";
import { Repeating } from "./repeating.ts";

test("goes on after what went wrong, one at a time, until it is stopped", async () => {
  const timers: (() => void)[] = [];
  const clock = {
    after(_: number, run: () => void) {
      timers.push(run);
      return () => void timers.splice(timers.indexOf(run), 1);
    },
  };
  const faults: unknown[] = [];
  let done = 0;
  const work = async () => {
    done += 1;
    if (done === 1) throw new Error("once");
  };
  const repeating = new Repeating(clock, 60_000, work, (error) => faults.push(error));
  for (let turn = 1; turn <= 3; turn += 1) {
    expect(timers).toHaveLength(1);
    timers.shift()?.();
    await new Promise(setImmediate);
    expect(done).toBe(turn);
  }
  expect(faults).toEqual([new Error("once")]);
  repeating.stop();
  expect(timers).toEqual([]);
});
