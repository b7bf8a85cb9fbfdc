import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divideTools, promote, toolTokens } from "./tool-index.ts";

const NONE = { threshold: 2, defer: [], alwaysLoaded: [] };
const own = { name: "read_file" };
const [a, b, c] = ["a", "b", "c"].map((label) => ({ name: `mcp__git__${label}`, label, source: "git" }));

describe("tools", () => {
  const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

  it("of servers are deferred when they are many; the agent's own are not", () => {
    expect(divideTools([own, a!, b!], NONE).deferred).toEqual([]);
    const { loaded, deferred } = divideTools([own, a!, b!, c!], NONE);
    expect([names(loaded), names(deferred)]).toEqual([["read_file"], [a!.name, b!.name, c!.name]]);
  });

  it.each([["mcp__git__b"], ["b"], ["git/b"], ["git/*"], ["mcp__git__*"]])(
    "named by %s are deferred or kept",
    (name) => {
      expect(names(divideTools([own, a!, b!], { ...NONE, defer: [name] }).deferred)).toContain(b!.name);
      const kept = divideTools([own, a!, b!, c!], { ...NONE, alwaysLoaded: [name], defer: [name] });
      expect(names(kept.loaded)).toContain(b!.name);
    },
  );

  it("of the agent itself are deferred by name", () => {
    expect(names(divideTools([own, a!], { ...NONE, defer: ["read_file"] }).deferred)).toEqual(["read_file"]);
  });

  it("have the size of their JSON, four characters a token", () => {
    expect(toolTokens({ name: "x", description: "", parameters: null })).toBe(12);
  });
});

describe("a promotion", () => {
  const size = (name: string) => Number(name.slice(1));

  it.each<[string, string[], string[], number, ReturnType<typeof promote>]>([
    [
      "adds what fits",
      [],
      ["a3", "b3"],
      10,
      { loaded: ["a3", "b3"], promoted: ["a3", "b3"], evicted: [], skipped: [] },
    ],
    [
      "evicts the oldest",
      ["a4", "b4"],
      ["c4"],
      10,
      { loaded: ["b4", "c4"], promoted: ["c4"], evicted: ["a4"], skipped: [] },
    ],
    [
      "skips a tool that is larger than the budget",
      ["a4"],
      ["b99", "c4"],
      10,
      { loaded: ["a4", "c4"], promoted: ["c4"], evicted: [], skipped: ["b99"] },
    ],
    [
      "keeps the best of one search",
      ["a9"],
      ["b6", "c6", "d4"],
      10,
      { loaded: ["b6", "d4"], promoted: ["b6", "d4"], evicted: ["a9"], skipped: ["c6"] },
    ],
    [
      "renews a tool that is found again",
      ["a4", "b4"],
      ["a4", "c4"],
      10,
      { loaded: ["a4", "c4"], promoted: ["a4", "c4"], evicted: ["b4"], skipped: [] },
    ],
  ])("%s", (_, before, found, budget, expected) => {
    expect(promote(before, found, size, budget)).toEqual(expected);
  });

  it("never exceeds the budget, however often it is done", () => {
    const names = fc.uniqueArray(
      fc.integer({ min: 1, max: 30 }).map((number) => `t${number}`),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(fc.array(names, { maxLength: 8 }), fc.integer({ min: 0, max: 60 }), (searches, budget) => {
        let loaded: readonly string[] = [];
        for (const found of searches) {
          const result = promote(loaded, found, size, budget);
          ({ loaded } = result);
          expect(loaded.reduce((sum, name) => sum + size(name), 0)).toBeLessThanOrEqual(budget);
          expect(new Set(loaded).size).toBe(loaded.length);
          expect([...result.promoted, ...result.skipped].toSorted()).toEqual(found.toSorted());
        }
      }),
    );
  });
});
