import { describe, expect, test } from "vitest";
import { JsonError, MAX_NESTING, scan } from "./scan.ts";

const faultIs = (fault: string) => expect.objectContaining({ name: "JsonError", fault });
const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

describe("nesting", () => {
  test.each([
    ["arrays", arrays],
    ["objects", objects],
  ])("127 %s inside each other pass, 128 are refused", (_, nested) => {
    expect(() => scan(nested(MAX_NESTING))).not.toThrow();
    expect(() => scan(nested(MAX_NESTING + 1))).toThrow(faultIs("too_deep"));
  });

  test("siblings do not add up", () => {
    expect(() => scan(`[${Array(1000).fill("[{}]").join(",")}]`)).not.toThrow();
  });

  test("brackets inside strings are text", () => {
    expect(() => scan(`"${"[{".repeat(500)}"`)).not.toThrow();
    expect(() => scan(`"\\"${"[{".repeat(500)}"`)).not.toThrow();
  });
});

describe("members", () => {
  test.each([
    ["{}", 0],
    ['{"a":1,"b":{"c":[{"d":2}]}}', 4],
    ['{"a:b":"c:d"}', 1],
    ['{"\\":":"\\\\","e":1}', 2],
    ['["a:b",1]', 0],
  ])("%s has %i", (text, members) => {
    expect(scan(text).members).toBe(members);
  });
});

describe("numbers that JavaScript would blur", () => {
  test.each(["1.5", "1.0", "1e3", "1E3", "-0", "-0.5", "[1,2e1]", "1234567890123456", '{"a":[{"b":1.0}]}'])(
    "%s is one",
    (text) => {
      expect(scan(text).delicateNumbers).toBe(true);
    },
  );

  test.each(["0", "1", "-1", "123456789012345", '"1.5e3"', '{"1.5":true}', "[10,200,-30]"])(
    "%s is none",
    (text) => {
      expect(scan(text).delicateNumbers).toBe(false);
    },
  );
});

describe("escapes of surrogates", () => {
  test.each([
    '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00"',
    '"\\u00e9\\u2028"',
    '"\\\\ud800"',
    '"a\\\\\\ud83d\\ude00"',
  ])("%s is well-formed", (text) => {
    expect(() => scan(text)).not.toThrow();
  });

  test.each([
    ["high alone", '"\\ud800"'],
    ["low alone", '"\\udc00"'],
    ["low before high", '"\\ude00\\ud83d"'],
    ["high before a letter", '"\\ud800a"'],
    ["high before another escape", '"\\ud800\\n"'],
    ["low twice", '"\\udc00\\udc00"'],
    ["high twice", '"\\ud800\\ud800"'],
    ["in a key", '{"\\udfff":1}'],
    ["after other escapes", '"\\\\\\"\\ud800"'],
  ])("%s is refused", (_, text) => {
    expect(() => scan(text)).toThrow(faultIs("lone_surrogate"));
  });
});

test("what is not JSON is left to the parser", () => {
  for (const text of ["", "]]]", '"open', '"\\', '"\\u', "{]", "\u0000", "nul"]) {
    expect(() => scan(text)).not.toThrow(JsonError);
  }
});
