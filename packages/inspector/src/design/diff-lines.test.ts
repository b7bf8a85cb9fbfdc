import { expect, test } from "vitest";
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
