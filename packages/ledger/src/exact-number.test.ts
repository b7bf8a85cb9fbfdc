import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, exactJson } from "./canonical.ts";
import { recordedJson, restoredJson } from "./exact-number.ts";

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
