import { expect, test } from "vitest";
import { retryAfterMs } from "./post.ts";

const now = new Date("2026-01-01T00:00:00.000Z");

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
])("Retry-After: %s pauses a webhook for %s ms", (value, pause) => {
  expect(retryAfterMs(value, now)).toBe(pause);
});
