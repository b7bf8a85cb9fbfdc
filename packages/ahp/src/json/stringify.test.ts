import { parseJson } from "@reins/kit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PROPERTY } from "../../test/values.ts";
import { compareUtf8, stringifySorted } from "./stringify.ts";

describe("keys are in the order of their UTF-8 bytes", () => {
  test.each([
    ["letters", { b: 1, a: 2, B: 3 }, '{"B":3,"a":2,"b":1}'],
    ["at every level", { b: [{ d: 1, c: 2 }], a: {} }, '{"a":{},"b":[{"c":2,"d":1}]}'],
    ["integer-like keys as text", { 9: 1, 10: 2, "-1": 3 }, '{"-1":3,"10":2,"9":1}'],
    ["a prefix first", { ab: 1, a: 2, "": 3 }, '{"":3,"a":2,"ab":1}'],
    ["astral after the whole BMP", { "\u{1f600}": 1, "\uffee": 2, z: 3 }, '{"z":3,"\uffee":2,"\u{1f600}":1}'],
    ["__proto__ too", JSON.parse('{"a":1,"__proto__":2}'), '{"__proto__":2,"a":1}'],
  ])("%s", (_, value, text) => {
    expect(stringifySorted(value)).toBe(text);
  });

  test("for any two strings", () => {
    const strings = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(strings, strings, (left, right) => {
        expect(compareUtf8(left, right)).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      }),
      PROPERTY,
    );
  });
});

describe("scalars", () => {
  test.each([
    ["text", 'a"\\/\b\f\n\r\t\u0001\u007f\u2028é', '"a\\"\\\\/\\b\\f\\n\\r\\t\\u0001\u007f\u2028é"'],
    ["a lone surrogate as U+FFFD", "a\ud800b", '"a\ufffdb"'],
    ["a pair as it is", "\u{1f600}", '"\u{1f600}"'],
    ["-0 as 0", -0, "0"],
    ["NaN as null", Number.NaN, "null"],
    ["infinity as null", Number.POSITIVE_INFINITY, "null"],
    ["null", null, "null"],
    ["true", true, "true"],
    ["a fraction", 0.8999999761581421, "0.8999999761581421"],
  ])("%s", (_, value, text) => {
    expect(stringifySorted(value)).toBe(text);
  });

  test("lone surrogates in keys become U+FFFD", () => {
    expect(stringifySorted({ "\udc00": 1 })).toBe('{"\ufffd":1}');
  });

  test.each([
    ["the greatest u64", "18446744073709551615"],
    ["the greatest i64", "9223372036854775807"],
    ["the least i64", "-9223372036854775808"],
  ])("%s stays in the range of its type", (_, digits) => {
    expect(stringifySorted(Number(digits))).toBe(digits);
  });
});

describe("absence", () => {
  test("undefined members are left out, undefined elements are null", () => {
    expect(stringifySorted({ a: undefined, b: [undefined, 1], c: { d: undefined } })).toBe(
      '{"b":[null,1],"c":{}}',
    );
  });

  test("a hole in an array is null", () => {
    expect(stringifySorted(Array(2))).toBe("[null,null]");
  });
});

describe("what JSON cannot hold is refused", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = [cycle];
  const tooDeep = "nested deeper than 127 arrays and objects";
  test.each([
    ["a function", { f: () => 1 }, "a function has no JSON form"],
    ["a symbol", [Symbol("s")], "a symbol has no JSON form"],
    ["a bigint", { n: 1n }, "a bigint has no JSON form"],
    ["a cycle", cycle, tooDeep],
    ["something that turns into itself", { toJSON: () => cycle }, tooDeep],
  ])("%s", (_, value, message) => {
    expect(() => stringifySorted(value)).toThrow(new TypeError(message));
  });

  test("128 levels; the containers around the text count", () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    expect(stringifySorted(nested(127))).toHaveLength(255);
    expect(() => stringifySorted(nested(128))).toThrow(tooDeep);
    expect(stringifySorted(nested(124), 3)).toHaveLength(249);
    expect(() => stringifySorted(nested(125), 3)).toThrow(tooDeep);
  });
});

test("toJSON speaks for its object", () => {
  expect(stringifySorted({ at: new Date(0), raw: { toJSON: () => ({ b: 1, a: 2 }) } })).toBe(
    '{"at":"1970-01-01T00:00:00.000Z","raw":{"a":2,"b":1}}',
  );
});

test("any JSON value survives writing and reading", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: "grapheme" }), (value) => {
      const text = stringifySorted(value);
      const plain: unknown = JSON.parse(JSON.stringify(value));
      expect(parseJson(text).value).toStrictEqual(plain);
      expect(stringifySorted(plain)).toBe(text);
    }),
    PROPERTY,
  );
});
