import { expect, test } from "vitest";
import { Restarts } from "./restarts.ts";

const restarts = new Restarts({ firstMs: 100, longestMs: 1_000, memoryMs: 10_000, limit: 6 });

test("who never crashed starts at once", () => {
  expect(restarts.next([])).toEqual({ at: Number.NEGATIVE_INFINITY, givenUp: false });
});

test("the wait doubles with each crash, up to a bound", () => {
  const waits = [1, 2, 3, 4, 5].map((count) => {
    const crashes = Array.from({ length: count }, (_, index) => index * 10);
    return restarts.next(crashes).at - (count - 1) * 10;
  });
  expect(waits).toEqual([100, 200, 400, 800, 1_000]);
});

test("crashes of long ago do not count", () => {
  expect(restarts.next([0, 10, 20, 30_000])).toEqual({ at: 30_100, givenUp: false });
});

test("after too many crashes it is given up until the oldest is forgotten", () => {
  expect(restarts.next([0, 10, 20, 30, 40, 50])).toEqual({ at: 10_000, givenUp: true });
});

test("no more crashes are remembered than matter", () => {
  let crashes: number[] = [];
  for (let at = 0; at < 1_000; at += 1) crashes = restarts.remember(crashes, at);
  expect(crashes).toEqual([994, 995, 996, 997, 998, 999]);
  expect(restarts.remember(crashes, 50_000)).toEqual([50_000]);
});
