import { expect, it } from "vitest";
import { describeFault } from "./faults.ts";

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

it("what stands nowhere is told without a line", () => {
  expect(describeFault({ message: "m", place: undefined }, { file: "f", rules: "" })).toBe("f: m\n");
});
