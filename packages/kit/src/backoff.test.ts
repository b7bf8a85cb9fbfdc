import { expect, test } from "vitest";
import { exponentialBackoff } from "./backoff.ts";

const limits = { firstMs: 250, mostMs: 10_000 };

test("delays double up to the limit, and spread over the upper half", () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 50, 5_000].map((failures) => exponentialBackoff(limits, failures));
  expect(delays).toEqual([250, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
  expect(exponentialBackoff(limits, 3, 0)).toBe(500);
});
