import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { renderedText } from "../../test/render.ts";
import { itemKey, mergeItems, Tailed, withGaps } from "./tail.tsx";

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

test("keeps the same list if nothing arrived", () => {
  const known = of(1, 2);
  expect(mergeItems(known, [], 10)).toBe(known);
});

test("has a key for each item that is unique across restarts", () => {
  const keys = [...of(1, 2), ...later(1, 2)].map(itemKey);
  expect(new Set(keys).size).toBe(4);
  expect(itemKey(of(1)[0]!)).toBe(itemKey(of(1)[0]!));
});

describe("a list that follows a stream", () => {
  const shown = (tail: { all: readonly number[]; error: unknown; isLoaded: boolean }) =>
    renderedText(
      createElement(() =>
        Tailed({
          tail,
          what: "Subscribing",
          empty: "nothing yet",
          children: (all) => `items ${all.join(" ")}`,
        }),
      ),
    );

  test("waits, is empty, or shows its items", () => {
    expect(shown({ all: [], error: undefined, isLoaded: false })).toBe("Subscribing …");
    expect(shown({ all: [], error: undefined, isLoaded: true })).toBe("nothing yet");
    expect(shown({ all: [1, 2], error: undefined, isLoaded: true })).toBe("items 1 2");
  });

  test("reports an error only if it has no items, because the stream reconnects by itself", () => {
    expect(shown({ all: [], error: new Error("gone"), isLoaded: true })).toBe("The request failed gone");
    expect(shown({ all: [1], error: new Error("gone"), isLoaded: true })).toBe("items 1");
  });
});
