import { expect, test } from "vitest";
import { diffLines } from "./diff-lines.ts";

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", out: "-", in: "+" }[kind]}${text}`);

test("a changed line goes out and comes in between what stays", () => {
  expect(shown("a\nb\nc\n", "a\nB\nc\n")).toEqual([" a", "-b", "+B", " c"]);
});

test("a new file is all in, a deleted one all out", () => {
  expect(shown("", "a\nb")).toEqual(["+a", "+b"]);
  expect(shown("a\n", "")).toEqual(["-a"]);
});

test("what moved around a common run is found", () => {
  expect(shown("one\ntwo\nthree", "zero\none\nthree\nfour")).toEqual([
    "+zero",
    " one",
    "-two",
    " three",
    "+four",
  ]);
});

test("texts too large to compare are all out, all in, and nothing is lost", () => {
  const old = Array.from({ length: 1_200 }, (_, line) => `old ${line}`).join("\n");
  const young = Array.from({ length: 1_200 }, (_, line) => `new ${line}`).join("\n");
  const lines = diffLines(old, young);
  expect(lines.filter(({ kind }) => kind === "out")).toHaveLength(1_200);
  expect(lines.filter(({ kind }) => kind === "in")).toHaveLength(1_200);
});
