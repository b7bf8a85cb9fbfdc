import { describe, expect, it } from "vitest";
import { nameGlob } from "./glob.ts";

describe("a shell's glob", () => {
  it.each([
    ["*", "a", true],
    ["*", ".a", false],
    [".*", ".a", true],
    ["a*c", "abbc", true],
    ["a*c", "abb", false],
    ["a*b*c", "aXbXbXc", true],
    ["?", "é", true],
    ["?", "ab", false],
    ["[abc]x", "bx", true],
    ["[a-c]x", "dx", false],
    ["[!a-c]x", "dx", true],
    ["[^a]", "a", false],
    ["[]]", "]", true],
    ["[a", "[a", true],
    ["[a-]", "-", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a\\", "a\\", true],
    ["**", "ab", true],
    ["", "", true],
  ])("%s against %s: %s", (pattern, name, expected) => {
    expect(nameGlob(pattern)?.(name)).toBe(expected);
  });

  it("of classes that depend on the language is not read", () => {
    expect(nameGlob("[[:alpha:]]")).toBeUndefined();
  });

  it("of many stars takes no longer for that", () => {
    expect(nameGlob("*a".repeat(500))?.(`${"a".repeat(200)}b`)).toBe(false);
  });

  it("matches hidden names where that is asked for", () => {
    expect(nameGlob("*.json", { matchesDots: true })?.(".mcp.json")).toBe(true);
  });
});
