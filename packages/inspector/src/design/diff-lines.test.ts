import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffLines } from "./diff-lines.ts";

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", out: "-", in: "+" }[kind]}${text}`);

test("shows a changed line as removed and added between unchanged lines", () => {
  expect(shown("a\nb\nc\n", "a\nB\nc\n")).toEqual([" a", "-b", "+B", " c"]);
});

test("shows a new file as added and a deleted one as removed", () => {
  expect(shown("", "a\nb")).toEqual(["+a", "+b"]);
  expect(shown("a\n", "")).toEqual(["-a"]);
});

test("keeps the longest common lines when lines move", () => {
  expect(shown("one\ntwo\nthree", "zero\none\nthree\nfour")).toEqual([
    "+zero",
    " one",
    "-two",
    " three",
    "+four",
  ]);
});

test("shows texts too large to compare as removed, then added, completely", () => {
  const old = Array.from({ length: 1_200 }, (_, line) => `old ${line}`).join("\n");
  const young = Array.from({ length: 1_200 }, (_, line) => `new ${line}`).join("\n");
  const lines = diffLines(old, young);
  expect(lines.filter(({ kind }) => kind === "out")).toHaveLength(1_200);
  expect(lines.filter(({ kind }) => kind === "in")).toHaveLength(1_200);
});

describe("every diff", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "", "frog"), { maxLength: 12 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  const without = (kind: "in" | "out", before: string, after: string) =>
    diffLines(before, after)
      .filter((line) => line.kind !== kind)
      .map((line) => `${line.text}\n`)
      .join("");

  test("has all lines before and all lines after, in order", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(without("in", before, after)).toBe(before);
        expect(without("out", before, after)).toBe(after);
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  test("of the same text changes nothing", () => {
    fc.assert(
      fc.property(text, (same) => {
        expect(diffLines(same, same).every(({ kind }) => kind === "same")).toBe(true);
      }),
      { seed: 7, numRuns: 100 },
    );
  });
});
