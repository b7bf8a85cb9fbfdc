import { expect, test } from "vitest";
import { Restarts } from "./agent-process.ts";

const restarts = new Restarts({ firstMs: 100, mostMs: 1_000, memoryMs: 10_000, limit: 6 });

test("starts at once without crashes", () => {
  expect(restarts.next([])).toEqual({ at: Number.NEGATIVE_INFINITY, givenUp: false });
});

test("doubles the wait with each crash, up to a limit", () => {
  const waits = [1, 2, 3, 4, 5].map((count) => {
    const crashes = Array.from({ length: count }, (_, index) => index * 10);
    return restarts.next(crashes).at - (count - 1) * 10;
  });
  expect(waits).toEqual([100, 200, 400, 800, 1_000]);
});

test("forgets old crashes", () => {
  expect(restarts.next([0, 10, 20, 30_000])).toEqual({ at: 30_100, givenUp: false });
});

test("gives up after too many crashes until the oldest is forgotten", () => {
  expect(restarts.next([0, 10, 20, 30, 40, 50])).toEqual({ at: 10_000, givenUp: true });
});

test("remembers no more crashes than the limit", () => {
  let crashes: number[] = [];
  for (let at = 0; at < 1_000; at += 1) crashes = restarts.remember(crashes, at);
  expect(crashes).toEqual([994, 995, 996, 997, 998, 999]);
  expect(restarts.remember(crashes, 50_000)).toEqual([50_000]);
});
