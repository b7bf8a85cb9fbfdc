import { expect, test } from "vitest";
import { waitAfter } from "./backoff.ts";

test("waits grow to a bound, and are spread below it", () => {
  const most = [1, 2, 3, 4, 5, 6, 7, 50].map((failures) => waitAfter(failures, () => 1));
  expect(most).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(waitAfter(3, () => 0)).toBe(500);
});
