import { expect, test } from "vitest";
import { merged, withHoles } from "./tail.ts";

const of = (...seqs: number[]) => seqs.map((seq) => ({ seq }));

test("what comes late or twice stands in its place, once", () => {
  expect(merged(of(1, 2), of(3, 4), 10)).toEqual(of(1, 2, 3, 4));
  expect(merged(of(3, 4), of(1, 2, 3), 10)).toEqual(of(1, 2, 3, 4));
});

test("of too many the oldest go", () => {
  expect(merged(of(1, 2, 3), of(4, 5), 3)).toEqual(of(3, 4, 5));
});

test("what is missing between two is counted", () => {
  expect(withHoles(of(4, 5, 9))).toEqual([{ seq: 4 }, { seq: 5 }, { missing: 3 }, { seq: 9 }]);
});
