import { expect, test } from "vitest";
import { Repeater, raceAbort, settlesWithin, sleep } from "./async.ts";
import { ManualClock, settled } from "./manual-clock.ts";

test("a repeater runs its job again after an error, never twice at once, until it is stopped", async () => {
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
  const repeater = new Repeater(clock, 60_000, work, (error) => faults.push(error));
  for (let turn = 1; turn <= 3; turn += 1) {
    expect(timers).toHaveLength(1);
    timers.shift()?.();
    await new Promise(setImmediate);
    expect(done).toBe(turn);
  }
  expect(faults).toEqual([new Error("once")]);
  repeater.stop();
  expect(timers).toEqual([]);
});

test("settlesWithin resolves to whether the promise was in time, and rejects if it rejects", async () => {
  const never = new Promise(() => undefined);
  expect(await settlesWithin(Promise.resolve(), 10_000)).toBe(true);
  expect(await settlesWithin(never, 1)).toBe(false);
  expect(await settlesWithin(Promise.resolve(), Number.POSITIVE_INFINITY)).toBe(true);
  await expect(settlesWithin(Promise.reject(new Error("no")), 10_000)).rejects.toThrow("no");
});

test("settlesWithin takes its time from a clock, and cancels its timer", async () => {
  const clock = new ManualClock();
  const late = settlesWithin(new Promise(() => undefined), 1_000, clock);
  clock.advance(1_000);
  expect([await late, await settlesWithin(Promise.resolve(), 1_000, clock), clock.waiting]).toEqual([
    false,
    true,
    0,
  ]);
});

test("sleep ends after its time or when the signal aborts, and cancels its timer", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const woken: string[] = [];
  void sleep(1_000, clock, controller.signal).then(() => woken.push("by time"));
  void sleep(2_000, clock, controller.signal).then(() => woken.push("by abort"));
  clock.advance(1_000);
  await settled();
  expect(woken).toEqual(["by time"]);
  controller.abort();
  await settled();
  await sleep(3_000, clock, controller.signal);
  expect([woken, clock.waiting]).toEqual([["by time", "by abort"], 0]);
});

test("raceAbort rejects with the reason of the signal and leaves no listener behind", async () => {
  const controller = new AbortController();
  const waiting = raceAbort(new Promise(() => undefined), controller.signal);
  controller.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await expect(raceAbort(Promise.resolve(1), controller.signal)).rejects.toThrow("stopped");
  expect(await raceAbort(Promise.resolve(1), new AbortController().signal)).toBe(1);
});
