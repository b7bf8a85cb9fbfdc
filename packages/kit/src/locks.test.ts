import { expect, test } from "vitest";
import { AutoResetEvent, KeyedQueue, SharedLock, SingleFlight } from "./locks.ts";

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

test("an exclusive job waits for shared ones, and holds later ones back", async () => {
  const lock = new SharedLock();
  const order: string[] = [];
  const [first, alone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const jobs = [
    lock.shared(async () => {
      await first.promise;
      order.push("shared");
    }),
    lock.exclusive(async () => {
      order.push("exclusive");
      await alone.promise;
    }),
    lock.shared(async () => void order.push("later")),
    lock.exclusive(async () => void order.push("second exclusive")),
  ];
  await new Promise(setImmediate);
  expect(order).toEqual([]);
  first.resolve();
  await new Promise(setImmediate);
  expect(order).toEqual(["shared", "exclusive"]);
  alone.resolve();
  await Promise.all(jobs);
  expect(order.toSorted()).toEqual(["exclusive", "later", "second exclusive", "shared"]);
  await expect(lock.shared(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await lock.idle();
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
  expect(flights.has("a")).toBe(true);
  gate.resolve();
  await Promise.all([one, two]);
  expect([started, first, second, flights.has("a")]).toEqual([1, [1, 2], [1, 2], false]);
});
