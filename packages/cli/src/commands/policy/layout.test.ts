import { describe, expect, it } from "vitest";
import { counted } from "../../output.ts";
import { cutPrintable, describeFault, inline, numbers, WIDTH, wrapped } from "./layout.ts";

describe("text", () => {
  it("is wrapped to 80 columns", () => {
    const text = wrapped("a word and another ".repeat(20).trim(), 4, 2);
    const lines = text.split("\n").slice(0, -1);
    expect(lines.every((line) => line.length <= WIDTH)).toBe(true);
    expect(lines[0]).toMatch(/^ {2}a word/);
    expect(lines.slice(1).every((line) => /^ {4}\S/.test(line))).toBe(true);
  });

  it("keeps a long word whole, and spells out hidden characters", () => {
    const long = "x".repeat(100);
    expect(wrapped(`a ${long} b`, 2, 0)).toBe(`a\n  ${long}\n  b\n`);
    expect(wrapped("a\u001b[31mb\nc", 0)).toBe("a\\u{1b}[31mb\\u{a}c\n");
  });

  it("is cut with an ellipsis", () => {
    expect([cutPrintable("abcdef", 6), cutPrintable("abcdefg", 6)]).toEqual(["abcdef", "abcde…"]);
  });
});

it("is counted with singular and plural", () => {
  expect([counted(1, "rule"), counted(1_200, "rule"), counted(0, "harness", "harnesses")]).toEqual([
    "1 rule",
    "1,200 rules",
    "0 harnesses",
  ]);
});

it("aligns numbers", () => {
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
])("formats %j as %s", (value, text) => {
  expect(inline(value)).toBe(text);
});

const at = (column: number, line: string) =>
  describeFault(
    { message: "is wrong", place: { line: 2, column } },
    { file: "f", rules: `first\n${line}\nlast` },
  );

it("shows the line of a fault with a mark under its position", () => {
  expect(at(5, "  a: b")).toBe("f:2:5: is wrong\n  2 |   a: b\n    |     ^\n");
});

it("shows a fault behind the end of the file", () => {
  expect(describeFault({ message: "m", place: { line: 9, column: 1 } }, { file: "f", rules: "" })).toBe(
    "f:9:1: m\n  9 |\n    | ^\n",
  );
});

it("shows the part of a long line around a fault", () => {
  const line = `${"a".repeat(100)}X${"b".repeat(100)}`;
  const [, shown = "", mark = ""] = at(101, line).split("\n");
  expect(shown.length).toBeLessThanOrEqual(80);
  expect(shown[mark.indexOf("^")]).toBe("X");
  expect(shown).toMatch(/\| …a+Xb+…$/);
});

it("aligns the mark when characters before it are escaped", () => {
  const [, shown = "", mark = ""] = at(3, "\u001b\u202eX").split("\n");
  expect(shown[mark.indexOf("^")]).toBe("X");
});

it("describes a fault without a position without a line", () => {
  expect(describeFault({ message: "m", place: undefined }, { file: "f", rules: "" })).toBe("f: m\n");
});
