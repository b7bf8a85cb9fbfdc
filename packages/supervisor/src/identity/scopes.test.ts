import fc from "fast-check";
import { expect, test } from "vitest";
import { covers, intersect } from "./scopes.ts";

const scopes = fc.uniqueArray(fc.constantFrom<string>("*", "a", "b", "c", "d"));

test("what several lists have in common is never more than any of them, and all they share", () => {
  fc.assert(
    fc.property(fc.array(scopes, { minLength: 1 }), (lists) => {
      const common = intersect(...lists);
      for (const list of lists) expect(covers(list, common)).toBe(true);
      for (const scope of ["a", "b", "c", "d"]) {
        const shared = lists.every((list) => list.includes("*") || list.includes(scope));
        expect(common.includes("*") || common.includes(scope)).toBe(shared);
      }
    }),
  );
});

test("the order of the lists does not matter", () => {
  fc.assert(
    fc.property(scopes, scopes, (one, other) => {
      expect(new Set(intersect(one, other))).toEqual(new Set(intersect(other, one)));
    }),
  );
});

test("only a list with * covers *", () => {
  expect(covers(["a"], ["*"])).toBe(false);
  expect(covers(["*"], ["*"])).toBe(true);
  expect(covers([], [])).toBe(true);
});
