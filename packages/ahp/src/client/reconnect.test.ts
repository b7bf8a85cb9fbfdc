import { expect, test } from "vitest";
import { backoff, DEFAULT_RECONNECT } from "./transport.ts";

test("waits double up to a bound and are spread over their upper half", () => {
  const waits = [0, 1, 2, 10, 100].map((attempt) => backoff(DEFAULT_RECONNECT, attempt, 1));
  expect(waits).toEqual([100, 200, 400, 5_000, 5_000]);
  expect(backoff(DEFAULT_RECONNECT, 0, 0)).toBe(50);
});
