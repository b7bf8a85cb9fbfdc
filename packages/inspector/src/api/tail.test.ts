import { expect, test } from "vitest";
import { mergeItems, withGaps } from "./tail.tsx";

const of = (...seqs: number[]) => seqs.map((seq) => ({ seq, at: `2026-01-01T00:00:0${seq}.000Z` }));
const later = (...seqs: number[]) => seqs.map((seq) => ({ seq, at: `2026-01-02T00:00:0${seq}.000Z` }));

test("sorts late items and drops duplicates", () => {
  expect(mergeItems(of(1, 2), of(3, 4), 10)).toEqual(of(1, 2, 3, 4));
  expect(mergeItems(of(3, 4), of(1, 2, 3), 10)).toEqual(of(1, 2, 3, 4));
});

test("puts items of a restarted server after earlier ones", () => {
  expect(mergeItems(of(1, 2, 3), later(1, 2), 10)).toEqual([...of(1, 2, 3), ...later(1, 2)]);
  expect(mergeItems([...of(2, 3), ...later(2)], later(1, 2), 10)).toEqual([...of(2, 3), ...later(1, 2)]);
  expect(withGaps([...of(3), ...later(1)])).toEqual([...of(3), ...later(1)]);
});

test("drops the oldest items above the limit", () => {
  expect(mergeItems(of(1, 2, 3), of(4, 5), 3)).toEqual(of(3, 4, 5));
});

test("counts missing items between two numbers", () => {
  expect(withGaps(of(4, 5, 9))).toEqual([...of(4, 5), { missing: 3 }, ...of(9)]);
});
