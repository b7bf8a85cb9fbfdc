import { describe, expect, test } from "vitest";
import { clockOf, dataOf, lastOf } from "./chart.tsx";

const lines = [
  { label: "all", tone: "accent", values: [1, 2, null] },
  { label: "blocked", tone: "bad", values: [null, null, null] },
] as const;

describe("a chart", () => {
  test("has its data in seconds, one list for each line", () => {
    expect(dataOf({ at: [1_000, 2_500], lines })).toEqual([
      [1, 2.5],
      [1, 2, null],
      [null, null, null],
    ]);
  });
});

describe("the last value", () => {
  test.each([
    [[1, 2, 3], "3"],
    [[1, null], "1"],
    [[0], "0"],
    [[null], "–"],
    [[], "–"],
  ])("of %j is %s", (values, text) => {
    expect(lastOf(values, String)).toBe(text);
  });
});

test("times of day have seconds only if they are not zero", () => {
  const at = new Date(2026, 0, 1, 9, 5, 0).getTime() / 1_000;
  expect(clockOf(at)).toBe("09:05");
  expect(clockOf(at + 7)).toBe("09:05:07");
});
