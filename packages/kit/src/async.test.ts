import { expect, test } from "vitest";
import {
  AutoResetEvent,
  Inactivity,
  KeyedQueue,
  Repeater,
  raceAbort,
  SerialQueue,
  SingleFlight,
  settlesWithin,
  sleep,
  systemClock,
} from "./async.ts";
import { ManualClock, settled } from "./manual-clock.ts";

test("the system clock does not fire a very long timer at once, and cancels", async () => {
  const fired: string[] = [];
  const cancels = [2 ** 31, 1e12, Number.POSITIVE_INFINITY].map((delay) =>
    systemClock.after(delay, () => fired.push(String(delay))),
  );
  const cancelled = systemClock.after(1, () => fired.push("cancelled"));
  cancelled();
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const cancel of cancels) cancel();
  expect(fired).toEqual([]);
});

test("the manual clock runs timers at their time, those set on the way too, and none when it is set", () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const fired: [string, number][] = [];
  const start = clock.now().getTime();
  const note = (name: string) => fired.push([name, clock.now().getTime() - start]);
  clock.after(20, () => note("late"));
  clock.after(10, () => {
    note("early");
    clock.after(5, () => note("between"));
  });
  clock.after(15, () => note("cancelled"))();
  clock.set(new Date(start + 5));
  expect(fired).toEqual([]);
  clock.advance(25);
  expect(fired).toEqual([
    ["early", 10],
    ["between", 15],
    ["late", 20],
  ]);
  expect([clock.waiting, clock.now().getTime() - start]).toEqual([0, 30]);
});

function waiting() {
  const clock = new ManualClock();
  const start = clock.now().getTime();
  const silences: number[] = [];
  const onTimeout = () => void silences.push(clock.now().getTime() - start);
  return { clock, silences, inactivity: new Inactivity({ clock, milliseconds: 100, onTimeout }) };
}

test("an inactivity timer calls onTimeout once after inactivity", () => {
  const { clock, silences } = waiting();
  clock.advance(1_000);
  expect(silences).toEqual([100]);
});

test("an inactivity timer postpones the timeout with every activity", () => {
  const { clock, silences, inactivity } = waiting();
  for (let count = 0; count < 50; count += 1) {
    clock.advance(90);
    inactivity.touch();
  }
  expect(silences).toEqual([]);
  clock.advance(99);
  expect(silences).toEqual([]);
  clock.advance(1);
  expect(silences).toEqual([4_600]);
});

test("an inactivity timer holds no timer once it has ended", () => {
  const { clock, silences, inactivity } = waiting();
  clock.advance(50);
  inactivity.touch();
  clock.advance(60);
  inactivity.end();
  clock.advance(1_000);
  expect(silences).toEqual([]);
  expect(clock.waiting).toBe(0);
});

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

test("a keyed queue runs jobs of one key in order, also after a failure, and other keys in parallel", async () => {
  const lock = new KeyedQueue();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = lock.run("a", async () => {
    await gate.promise;
    order.push("a1");
    throw new Error("no");
  });
  const second = lock.run("a", async () => void order.push("a2"));
  await lock.run("b", async () => void order.push("b1"));
  gate.resolve();
  await expect(first).rejects.toThrow("no");
  await second;
  expect(order).toEqual(["b1", "a1", "a2"]);
});

test("a keyed queue can be acquired, in order, also when a waiting caller is cancelled", async () => {
  const queue = new KeyedQueue();
  const live = new AbortController().signal;
  const order: string[] = [];
  const release = await queue.acquire("m", live);
  const impatient = new AbortController();
  const cancelled = queue.acquire("m", impatient.signal);
  const waiting = ["b", "c"].map(async (name) => {
    const done = await queue.acquire("m", live);
    order.push(name);
    done();
  });
  (await queue.acquire("other", live))();
  impatient.abort(new Error("cancelled"));
  await expect(cancelled).rejects.toThrow("cancelled");
  expect(order).toEqual([]);
  release();
  await Promise.all(waiting);
  expect(order).toEqual(["b", "c"]);
  await expect(queue.acquire("m", AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  (await queue.acquire("m", live))();
});

test("an auto-reset event wakes a waiter once, also one that waits later", async () => {
  const event = new AutoResetEvent();
  const waiting = event.wait();
  event.set();
  await waiting;
  event.set();
  event.set();
  await event.wait();
  let woken = false;
  const next = event.wait().then(() => {
    woken = true;
  });
  await new Promise(setImmediate);
  expect(woken).toBe(false);
  event.set();
  await next;
});

test("a single flight runs a job once per key, and later callers receive its last progress first", async () => {
  const flights = new SingleFlight<number>();
  const gate = Promise.withResolvers<void>();
  let started = 0;
  const job = async (report: (progress: number) => void) => {
    started += 1;
    report(1);
    await gate.promise;
    report(2);
  };
  const [first, second]: [number[], number[]] = [[], []];
  const one = flights.join("a", job, (progress) => first.push(progress));
  const two = flights.join("a", job, (progress) => second.push(progress));
  expect(flights.keys).toEqual(["a"]);
  gate.resolve();
  await Promise.all([one, two]);
  expect([started, first, second, flights.keys]).toEqual([1, [1, 2], [1, 2], []]);
});

test("a serial queue runs jobs in order, also after one that fails, and is idle at the end", async () => {
  const queue = new SerialQueue();
  const ran: number[] = [];
  const job = (n: number) => async () => {
    await settled();
    ran.push(n);
    if (n === 1) throw new Error("failed");
    return n;
  };
  const [first, second] = [queue.run(job(1)), queue.run(job(2))];
  await expect(first).rejects.toThrow("failed");
  expect(await second).toBe(2);
  void queue.run(job(3));
  await queue.idle();
  expect(ran).toEqual([1, 2, 3]);
});

test("raceAbort abandons a promise that rejects after the signal has aborted", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const rejecting = new Promise((_, reject) => setImmediate(() => reject(new Error("late"))));
  await expect(raceAbort(rejecting, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("raceAbort rejects with the reason of the signal and leaves no listener behind", async () => {
  const controller = new AbortController();
  const waiting = raceAbort(new Promise(() => undefined), controller.signal);
  controller.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await expect(raceAbort(Promise.resolve(1), controller.signal)).rejects.toThrow("stopped");
  expect(await raceAbort(Promise.resolve(1), new AbortController().signal)).toBe(1);
});

test("raceAbort leaves no rejection unhandled when the signal aborted before", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  await expect(raceAbort(Promise.reject(new Error("late")), AbortSignal.abort())).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
