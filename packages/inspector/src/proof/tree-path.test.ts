import { expect, it } from "vitest";
import { treePath } from "./prove-entry.ts";

it("leads from a leaf to the root with the siblings of RFC 6962", () => {
  // The example of RFC 6962, section 2.1.3: seven leaves, the way of d3 is [c, g, l].
  expect(treePath(3, 7, ["c", "g", "l"])).toEqual([
    { node: { from: 2, to: 4 }, sibling: { from: 2, to: 3, side: "left", hash: "c" } },
    { node: { from: 0, to: 4 }, sibling: { from: 0, to: 2, side: "left", hash: "g" } },
    { node: { from: 0, to: 7 }, sibling: { from: 4, to: 7, side: "right", hash: "l" } },
  ]);
  // d6 is alone on its side: its way is [i, k].
  expect(treePath(6, 7, ["i", "k"]).map(({ sibling }) => [sibling.from, sibling.to, sibling.side])).toEqual([
    [4, 6, "left"],
    [0, 4, "left"],
  ]);
});

it("has no steps for a single leaf", () => {
  expect(treePath(0, 1, [])).toEqual([]);
});

it("has as many steps as an inclusion proof has hashes, for every size", () => {
  for (let size = 2; size <= 40; size += 1) {
    for (let index = 0; index < size; index += 1) {
      const steps = treePath(index, size, []);
      expect(steps.at(-1)?.node).toEqual({ from: 0, to: size });
      const covered = steps.reduce((sum, { sibling }) => sum + sibling.to - sibling.from, 1);
      expect(covered).toBe(size);
    }
  }
});
