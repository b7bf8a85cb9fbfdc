import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jcs } from "../../test/ledger-maker.ts";
import { type JsonValue, PlainError } from "../json/parse.ts";
import { canonicalJson, NESTING_LIMIT } from "./entry.ts";

describe("the examples of RFC 8785 and its authors", () => {
  it.each([
    [
      "§3.2.2, values",
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    ],
    [
      "§3.2.3, sorting",
      String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
    ["arrays", '[56,{"d":true,"10":null,"1":[]}]', '[56,{"1":[],"10":null,"d":true}]'],
    [
      "structures",
      String.raw`{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{}],"A":{}}`,
      String.raw`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{}],"A":{},"a":{}}`,
    ],
    [
      "french",
      '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ingnore locale"}',
      '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ingnore locale"}',
    ],
    [
      "unicode is not normalised",
      String.raw`{"Unnormalized Unicode":"A\u030a"}`,
      '{"Unnormalized Unicode":"A\u030a"}',
    ],
    [
      "weird",
      String.raw`{"\u20ac":"Euro Sign","1":"One","\u0080":"Control\u007f","\ud83d\ude02":"Smiley","\u00f6":"Latin Small Letter O With Diaeresis","\ufb33":"Hebrew Letter Dalet With Dagesh","</script>":"Browser Challenge"}`,
      '{"1":"One","</script>":"Browser Challenge","\u0080":"Control\u007f","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😂":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
  ])("%s", (_, input, output) => {
    expect(canonicalJson(JSON.parse(input))).toBe(output);
  });
});

describe("the numbers of RFC 8785, appendix B", () => {
  it.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("%s is %s", (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, "hex").readDoubleBE())).toBe(text);
  });

  it.each(["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])("%s is refused", (bits) => {
    expect(() => canonicalJson([Buffer.from(bits, "hex").readDoubleBE()])).toThrow(PlainError);
  });
});

describe("what is not plain", () => {
  it.each(["\ud800", "a\udc00b", "\udc00\ud800"])("refuses half of a surrogate pair: %j", (text) => {
    expect(() => canonicalJson({ b: 1, a: text })).toThrow(PlainError);
    expect(() => canonicalJson({ a: text })).toThrow(PlainError);
    expect(() => canonicalJson({ [text]: 1 })).toThrow(PlainError);
  });

  it("takes a backslash and a u for what they are", () => {
    expect(canonicalJson(["\\ud800"])).toBe('["\\\\ud800"]');
  });

  it(`counts ${NESTING_LIMIT} arrays and objects and no more`, () => {
    const nested = (depth: number): JsonValue =>
      depth === 0 ? 1 : depth % 2 ? [nested(depth - 1)] : { a: nested(depth - 1) };
    expect(canonicalJson(nested(NESTING_LIMIT))).toContain("1");
    expect(() => canonicalJson(nested(NESTING_LIMIT + 1))).toThrow(PlainError);
  });

  it("treats __proto__ and toJSON as names like any other", () => {
    const text = '{"__proto__":{"b":1},"constructor":2,"toJSON":"x"}';
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });
});

it("agrees with another implementation on any JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const plain: JsonValue = JSON.parse(JSON.stringify(value));
      expect(canonicalJson(plain)).toBe(jcs(plain));
    }),
    { numRuns: 50 },
  );
});
