import { expect, it } from "vitest";
import { inTurn } from "./in-turn.ts";

it("runs work of one name in order, past failures, and of another name beside it", async () => {
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = inTurn("a", async () => {
    await gate.promise;
    log.push("first");
    throw new Error("failed");
  });
  const second = inTurn("a", async () => log.push("second"));
  await inTurn("b", async () => log.push("beside"));
  gate.resolve();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(log).toEqual(["beside", "first", "second"]);
});
