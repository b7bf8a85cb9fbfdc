import { expect, test } from "vitest";
import { collectionOf, contentDigest, projectionOf } from "./credential.ts";

const old = Buffer.from('{"token":"old"}');
const renewed = Buffer.from('{"token":"renewed"}');
const changed = Buffer.from('{"token":"changed by the user"}');
const projected = contentDigest(old);

test.each([
  ["there is none", { source: undefined, copy: undefined, projected: undefined }, "keep"],
  ["only the agent has one", { source: undefined, copy: renewed, projected: undefined }, "keep"],
  ["only the user has one", { source: old, copy: undefined, projected: undefined }, "project"],
  ["both are the same", { source: old, copy: old, projected }, "keep"],
  ["the user changed it", { source: changed, copy: old, projected }, "project"],
  ["the agent renewed it and nobody took it back", { source: old, copy: renewed, projected }, "collect"],
  ["both changed it", { source: changed, copy: renewed, projected }, "project"],
  ["the agent left half a file", { source: old, copy: Buffer.from('{"tok'), projected }, "project"],
  [
    "the agent made one that was never given",
    { source: old, copy: renewed, projected: undefined },
    "project",
  ],
] as const)("before the start, when %s", (_, state, expected) => {
  expect(projectionOf(state)).toBe(expected);
});

test.each([
  ["nothing changed", { source: old, copy: old, projected }, "unchanged"],
  ["the agent removed it", { source: old, copy: undefined, projected }, "unchanged"],
  ["the agent renewed it", { source: old, copy: renewed, projected }, "collected"],
  ["both changed it", { source: changed, copy: renewed, projected }, "conflict"],
  ["the user removed it", { source: undefined, copy: renewed, projected }, "conflict"],
  ["the agent emptied it", { source: old, copy: Buffer.alloc(0), projected }, "unusable"],
  ["the agent left half a file", { source: old, copy: Buffer.from('{"tok'), projected }, "unusable"],
  ["it was never given", { source: undefined, copy: renewed, projected: undefined }, "unchanged"],
] as const)("after the end, when %s", (_, state, expected) => {
  expect(collectionOf(state)).toBe(expected);
});
