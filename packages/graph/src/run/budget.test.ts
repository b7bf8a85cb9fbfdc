import { expect, test } from "vitest";
import { tokensLeft } from "./budget.ts";

test.each([
  [{}, 5, {}, 5, undefined],
  [{ tokens: 10 }, 4, {}, 100, 6],
  [{ tokens: 10 }, 4, { tokens: 3 }, 1, 2],
  [{ tokens: 10 }, 40, undefined, undefined, 0],
  [{}, 0, { tokens: 7 }, undefined, 7],
])("of %j after %i and %j after %s, %s tokens are left", (run, used, own, usedOfOwn, left) => {
  expect(tokensLeft(run, used, own, usedOfOwn)).toBe(left);
});
