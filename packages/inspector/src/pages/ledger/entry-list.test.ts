import { describe, expect, test } from "vitest";
import { withLive } from "./entries.ts";
import { hoursAgo } from "./filters.tsx";
import { newerThan } from "./ledger-page.tsx";

const of = (...seqs: number[]) => seqs.map((seq) => ({ seq }));

describe("new entries", () => {
  test("come before the loaded ones, each once", () => {
    expect(withLive(of(5, 4), of(3, 2, 1))).toEqual(of(5, 4, 3, 2, 1));
    expect(withLive(of(5, 4, 3), of(4, 3, 2))).toEqual(of(5, 4, 3, 2));
  });

  test("are all entries before a page is loaded", () => {
    expect(withLive(of(1, 0), [])).toEqual(of(1, 0));
    expect(withLive([], [])).toEqual([]);
  });
});

describe("entries held back while the list is scrolled", () => {
  test("are those that are newer than the first one in view", () => {
    expect(newerThan(of(9, 8, 7, 6), 7)).toBe(2);
    expect(newerThan(of(9, 8, 7, 6), 9)).toBe(0);
  });

  test("are none at the top of the list, or if the first one is gone", () => {
    expect(newerThan(of(9, 8), undefined)).toBe(0);
    expect(newerThan(of(9, 8), 3)).toBe(0);
    expect(newerThan([], 3)).toBe(0);
  });

  test("count with a filter, whose entries have gaps", () => {
    expect(newerThan(of(90, 70, 50), 60)).toBe(2);
  });
});

test("a time filter counts hours back from now", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  expect(hoursAgo("1", now)).toBe("2026-01-02T11:00:00.000Z");
  expect(hoursAgo("168", now)).toBe("2025-12-26T12:00:00.000Z");
  expect(hoursAgo("", now)).toBeUndefined();
});
