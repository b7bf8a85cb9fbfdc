import { describe, expect, test } from "vitest";
import { readPattern } from "./notation.ts";

describe("a pattern", () => {
  test("has a fixed beginning, and steps that follow it", () => {
    const { beginning, steps, secret } = readPattern("gh[ps]_[a-c]{2,}");
    expect(beginning.map((codes) => String.fromCharCode(...codes))).toEqual(["g", "h", "ps", "_"]);
    expect(steps.map(({ min }) => min)).toEqual([2]);
    expect(secret).toBe(0);
  });

  test("says with parentheses where the secret begins", () => {
    expect(readPattern("ab[0-9]{4}:([a-z]{3,9})")).toMatchObject({ secret: 2 });
  });

  test("takes a letter for the letter, and a special character for itself after a backslash", () => {
    const { beginning } = readPattern("nt\\.\\[x{2}");
    expect(beginning.map((codes) => String.fromCharCode(...codes))).toEqual(["n", "t", ".", "["]);
  });

  test.each([
    ["a[b]{2,}", "two fixed characters"],
    ["ab.c+", '"." is not known'],
    ["ab(?:c)+", '"?" is not known'],
    ["ab(c)d", "parentheses end where"],
    ["ab[c", "not closed"],
    ["abc{3,1}", "not a count"],
    ["abc{99999}", "not a count"],
    ["äbc+", "not of ASCII"],
    ["abc?", "end with the characters of the secret"],
    ["abc", "end with the characters of the secret"],
    ["ab(c+)(d+)", "parentheses"],
  ])("%s cannot be used: %s", (pattern, why) => {
    expect(() => readPattern(pattern)).toThrow(why);
  });
});
