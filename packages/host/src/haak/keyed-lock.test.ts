import { expect, test } from "vitest";
import { KeyedLock } from "./keyed-lock.ts";

test("one thing at a time for each key, also after one went wrong, and others beside it", async () => {
  const lock = new KeyedLock();
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
