import { expect, test } from "vitest";
import { KeyedQueue, SharedLock } from "./locks.ts";

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
