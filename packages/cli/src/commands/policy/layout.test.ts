import { describe, expect, it } from "vitest";
import { counted, cutPrintable, describeFault, inline, numbers, WIDTH, wrapped } from "./layout.ts";

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

  it("that is cutPrintable says so", () => {
    expect([cutPrintable("abcdef", 6), cutPrintable("abcdefg", 6)]).toEqual(["abcdef", "abcde…"]);
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

const at = (column: number, line: string) =>
  describeFault(
    { message: "is wrong", place: { line: 2, column } },
    { file: "f", rules: `first\n${line}\nlast` },
  );

it("the line is shown with a mark under what is meant", () => {
  expect(at(5, "  a: b")).toBe("f:2:5: is wrong\n  2 |   a: b\n    |     ^\n");
});

it("a place behind the end of the file is shown too", () => {
  expect(describeFault({ message: "m", place: { line: 9, column: 1 } }, { file: "f", rules: "" })).toBe(
    "f:9:1: m\n  9 |\n    | ^\n",
  );
});

it("of a long line the part around it is shown, the mark still under it", () => {
  const line = `${"a".repeat(100)}X${"b".repeat(100)}`;
  const [, shown = "", mark = ""] = at(101, line).split("\n");
  expect(shown.length).toBeLessThanOrEqual(80);
  expect(shown[mark.indexOf("^")]).toBe("X");
  expect(shown).toMatch(/\| …a+Xb+…$/);
});

it("the mark stays under it when characters before it are shown as something else", () => {
  const [, shown = "", mark = ""] = at(3, "\u001b\u202eX").split("\n");
  expect(shown[mark.indexOf("^")]).toBe("X");
});

it("describes a fault without a position without a line", () => {
  expect(describeFault({ message: "m", place: undefined }, { file: "f", rules: "" })).toBe("f: m\n");
});
