import { describe, expect, it } from "vitest";
import { expandBraces } from "./expand.ts";

const texts = (text: string) =>
  expandBraces([{ kind: "text", text, quoted: false }])?.map((word) =>
    word.map((part) => (part.kind === "text" ? part.text : "?")).join(""),
  );

describe("braces", () => {
  it.each([
    ["a{b,c}d", ["abd", "acd"]],
    ["{a,b}{1,2}", ["a1", "a2", "b1", "b2"]],
    ["{a,b{c,d}}", ["a", "bc", "bd"]],
    ["{1..3}", ["1", "2", "3"]],
    ["{3..1}", ["3", "2", "1"]],
    ["{01..03}", ["01", "02", "03"]],
    ["{1..9..4}", ["1", "5", "9"]],
    ["{a..c}", ["a", "b", "c"]],
    ["{a}", ["{a}"]],
    ["{}", ["{}"]],
    ["{a,b", ["{a,b"]],
    ["a,b}", ["a,b}"]],
    ["{,x}", ["", "x"]],
  ])("%s", (given, expected) => {
    expect(texts(given)).toEqual(expected);
  });

  it("that make too many words make none", () => {
    expect(texts("{a,b}".repeat(8))).toBeUndefined();
    expect(texts("{1..999999999}")).toBeUndefined();
    expect(texts("{a,b}".repeat(20_000))).toBeUndefined();
  });

  it("in quotes are letters", () => {
    expect(expandBraces([{ kind: "text", text: "{a,b}", quoted: true }])).toHaveLength(1);
  });
});
