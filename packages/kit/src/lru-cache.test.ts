import { expect, it } from "vitest";
import { LruCache } from "./lru-cache.ts";

it("evicts the least recently used, by number and by size", () => {
  const memory = new LruCache<string, number>({ entries: 2, size: 10 });
  memory.set("a", 1, 1);
  memory.set("b", 2, 1);
  memory.get("a");
  memory.set("c", 3, 1);
  expect([memory.get("a"), memory.get("b"), memory.get("c")]).toEqual([1, undefined, 3]);
  memory.set("d", 4, 10);
  expect([memory.get("a"), memory.get("c"), memory.get("d")]).toEqual([undefined, undefined, 4]);
  memory.set("e", 5, 11);
  expect(memory.get("e")).toBeUndefined();
});
