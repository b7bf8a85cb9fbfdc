import { describe, expect, it } from "vitest";
import { counted, cut, inline, numbers, WIDTH, wrapped } from "./layout.ts";

describe("text", () => {
  it("is kept within the columns of a terminal", () => {
    const text = wrapped("a word and another ".repeat(20).trim(), 4, 2);
    const lines = text.split("\n").slice(0, -1);
    expect(lines.every((line) => line.length <= WIDTH)).toBe(true);
    expect(lines[0]).toMatch(/^ {2}a word/);
    expect(lines.slice(1).every((line) => /^ {4}\S/.test(line))).toBe(true);
  });

  it("keeps a long word whole, and shows what would steer the terminal", () => {
    const long = "x".repeat(100);
    expect(wrapped(`a ${long} b`, 2, 0)).toBe(`a\n  ${long}\n  b\n`);
    expect(wrapped("a\u001b[31mb\nc", 0)).toBe("a\\u{1b}[31mb\\u{a}c\n");
  });

  it("that is cut says so", () => {
    expect([cut("abcdef", 6), cut("abcdefg", 6)]).toEqual(["abcdef", "abcde…"]);
  });
});

it("counts things in words", () => {
  expect([counted(1, "rule"), counted(1_200, "rule"), counted(0, "harness", "harnesses")]).toEqual([
    "1 rule",
    "1,200 rules",
    "0 harnesses",
  ]);
});

it("puts numbers under each other", () => {
  expect(
    numbers([
      ["a", 1],
      ["longer", 1_000],
    ]),
  ).toBe("  a            1\n  longer   1,000\n");
});

it.each<[unknown, string]>([
  ["plain words", "plain words"],
  ["git push *", "git push *"],
  ["12", '"12"'],
  ["false", '"false"'],
  ["a: b", '"a: b"'],
  ["", '""'],
  [false, "false"],
  [
    { place: ["home", "system"], destroys: true, not: undefined },
    "{ place: [home, system], destroys: true }",
  ],
  [{}, "{}"],
  [undefined, "nothing"],
])("%j stands in a file as %s", (value, text) => {
  expect(inline(value)).toBe(text);
});
