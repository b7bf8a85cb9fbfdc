import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  blake3Hex,
  canonicalJson,
  exactJson,
  quickCanonicalJson,
  recordedJson,
  restoredJson,
} from "./canonical.ts";

test("the example of RFC 8785 §3.2.2 is written as its §3.2.3 says", () => {
  const value = JSON.parse(
    String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
  );
  expect(canonicalJson(value)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test("keys are sorted by their UTF-16 units, RFC 8785 §3.2.3", () => {
  const keys = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
  const sorted = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
  const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, 1])));
  expect([...text.matchAll(/"((?:[^"\\]|\\.)+)":1/g)].map(([, key]) => JSON.parse(`"${key}"`))).toEqual(
    sorted,
  );
});

test.each<[bigint, string]>([
  [0x0000000000000000n, "0"],
  [0x8000000000000000n, "0"],
  [0x0000000000000001n, "5e-324"],
  [0x8000000000000001n, "-5e-324"],
  [0x7fefffffffffffffn, "1.7976931348623157e+308"],
  [0xffefffffffffffffn, "-1.7976931348623157e+308"],
  [0x4340000000000000n, "9007199254740992"],
  [0xc340000000000000n, "-9007199254740992"],
  [0x4430000000000000n, "295147905179352830000"],
  [0x44b52d02c7e14af5n, "9.999999999999997e+22"],
  [0x44b52d02c7e14af6n, "1e+23"],
  [0x44b52d02c7e14af7n, "1.0000000000000001e+23"],
  [0x444b1ae4d6e2ef4en, "999999999999999700000"],
  [0x444b1ae4d6e2ef4fn, "999999999999999900000"],
  [0x444b1ae4d6e2ef50n, "1e+21"],
  [0x3eb0c6f7a0b5ed8cn, "9.999999999999997e-7"],
  [0x3eb0c6f7a0b5ed8dn, "0.000001"],
  [0x41b3de4355555553n, "333333333.3333332"],
  [0x41b3de4355555554n, "333333333.33333325"],
  [0x41b3de4355555555n, "333333333.3333333"],
  [0x41b3de4355555556n, "333333333.3333334"],
  [0x41b3de4355555557n, "333333333.33333343"],
  [0xbecbf647612f3696n, "-0.0000033333333333333333"],
  [0x43143ff3c1cb0959n, "1424953923781206.2"],
])("the number %i of RFC 8785, appendix B, is %s", (bits, text) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  expect(canonicalJson(view.getFloat64(0))).toBe(text);
});

/** From the official test vectors: the input is 0, 1, … 250, 0, 1, … to that length. */
test.each<[number, string]>([
  [0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"],
  [1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"],
  [1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"],
  [1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"],
  [1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"],
])("BLAKE3 of %i bytes", (length, digest) => {
  expect(blake3Hex(Uint8Array.from({ length }, (_, index) => index % 251))).toBe(digest);
});

const json = fc.letrec((tie) => ({
  text: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", "10", "9", "__proto__", "toJSON", "é", "\ufb33"),
  ),
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false, 0, -0, 5e-324, 1e21),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    tie("text"),
    fc.array(tie("value")),
    fc
      .array(fc.tuple(tie("text"), tie("value")))
      .map((members) => Object.fromEntries(members as [string, unknown][])),
  ),
})).value;

test("any JSON is written to the letter as by the reference implementation, in whichever order its members came", () => {
  fc.assert(
    fc.property(json, (value) => {
      const before = JSON.stringify(value);
      expect(canonicalJson(value)).toBe(canonicalize(value));
      expect(quickCanonicalJson(value) ?? canonicalize(value)).toBe(canonicalize(value));
      expect(JSON.stringify(value)).toBe(before);
    }),
    { numRuns: 2_000 },
  );
});

test("what is not JSON is written as JSON.stringify does, if at all, and never on the fast path", () => {
  const odd = { b: undefined, a: [undefined, new Date(0)], [Symbol("s")]: 1 };
  expect(canonicalJson(odd)).toBe('{"a":[null,"1970-01-01T00:00:00.000Z"]}');
  expect(() => canonicalJson({ "\udfff": 1 })).toThrow("surrogate");
  const circle: unknown[] = [];
  circle.push(circle, circle);
  for (const none of [odd, ...[{ b: undefined }, [undefined], new Date(0), new Map(), { [Symbol("s")]: 1 }]])
    expect(quickCanonicalJson(none)).toBeUndefined();
  for (const none of ["\ud800", { "\udfff": 1 }, NaN, Infinity, 1n, () => 1, Symbol("s"), undefined, circle])
    expect(quickCanonicalJson([none])).toBeUndefined();
});

test("64 arrays and objects inside each other are the most that is written quickly", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { n: nested(depth - 1) });
  expect(quickCanonicalJson(nested(64))).toBe(JSON.stringify(nested(64)));
  expect(quickCanonicalJson(nested(65))).toBeUndefined();
  expect(canonicalJson(nested(65))).toBe(JSON.stringify(nested(65)));
});

test("thousands of members are put in order as well", () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `n${(index * 7_919) % 5_000}`);
  const text = canonicalJson(Object.fromEntries(names.map((name) => [name, 0])));
  expect(Object.keys(JSON.parse(text))).toEqual([...names].sort());
});

const spelled = fc.bigInt().map((number) => JSON.rawJSON(String(number)));
const lookalike = fc
  .tuple(fc.constantFrom("$number", "$$number", "number"), fc.string())
  .map((one) => Object.fromEntries([one]));
const leaf = fc.oneof(spelled, lookalike, fc.jsonValue());
const value = fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.string(), leaf));

test("what is recorded is plain JSON, comes back as it was, and stands for nothing else", () => {
  fc.assert(
    fc.property(value, value, (one, other) => {
      const recorded = recordedJson(one);
      expect(JSON.stringify(restoredJson(JSON.parse(JSON.stringify(recorded))))).toBe(JSON.stringify(one));
      expect(exactJson(one)).toBe(canonicalJson(JSON.parse(JSON.stringify(recorded))));
      if (JSON.stringify(one) !== JSON.stringify(other) && !sameButForOrder(one, other))
        expect(exactJson(one)).not.toBe(exactJson(other));
    }),
  );
});

test("neighbours that are the same double stay different", () => {
  const of = (digits: string) => exactJson({ account: JSON.rawJSON(digits) });
  expect(of("9007199254740993")).toBe('{"account":{"$number":"9007199254740993"}}');
  expect(of("9007199254740993")).not.toBe(of("9007199254740992"));
  expect(of("9007199254740993")).not.toBe(exactJson({ account: { $number: "9007199254740993" } }));
});

test("an object without them stays the same object", () => {
  const plain = { a: [1, { b: "c" }], number: 1 };
  expect(recordedJson(plain)).toBe(plain);
});

function sameButForOrder(one: unknown, other: unknown): boolean {
  return (
    canonicalJson(recordedJson(one)) === canonicalJson(recordedJson(other)) &&
    JSON.stringify(one).length === JSON.stringify(other).length
  );
}
