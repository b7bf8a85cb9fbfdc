import { expect, it } from "vitest";
import { Pace } from "./pace.ts";

it("does the first thing at once and then one in each turn, in order", async () => {
  const pace = new Pace();
  const done: number[] = [];
  for (const number of [1, 2, 3]) pace.add(() => void done.push(number));
  expect(done).toEqual([1]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([1, 2]);
  pace.add(() => void done.push(4));
  while (done.length < 4) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([1, 2, 3, 4]);
  await new Promise((resolve) => setImmediate(resolve));
  pace.add(() => void done.push(5));
  expect(done).toEqual([1, 2, 3, 4, 5]);
});
