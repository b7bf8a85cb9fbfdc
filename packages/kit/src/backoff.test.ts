import { expect, test } from "vitest";
import { exponentialBackoff, retryAfterMs } from "./backoff.ts";

const limits = { firstMs: 250, mostMs: 10_000 };

test("delays double up to the limit, and spread over the upper half", () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 50, 5_000].map((failures) => exponentialBackoff(limits, failures));
  expect(delays).toEqual([250, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
  expect(exponentialBackoff(limits, 3, 0)).toBe(500);
});

const newYear = new Date("2026-01-01T00:00:00.000Z");

test.each<readonly [value: string | undefined, pause: number | undefined]>([
  ["5", 5_000],
  [" 7 ", 7_000],
  ["0", 0],
  ["99999999999999999999999", 600_000],
  ["9".repeat(400), 600_000],
  ["Thu, 01 Jan 2026 00:00:09 GMT", 9_000],
  ["Fri, 01 Jan 1999 00:00:00 GMT", 0],
  ["Sat, 01 Jan 2050 00:00:00 GMT", 600_000],
  ...["", "-5", "+5", "1e9", "0x10", "5, 6", "soon", "NaN", "Infinity", "2050-01-01", "٥"].map(
    (value) => [value, undefined] as const,
  ),
  ["Thu, 99 Jan 2026 00:00:09 GMT", undefined],
  [undefined, undefined],
])("Retry-After: %s asks to wait for %s ms", (value, pause) => {
  expect(retryAfterMs(value, newYear)).toBe(pause);
});
