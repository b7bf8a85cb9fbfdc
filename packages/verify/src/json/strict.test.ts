import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseStrict } from "./strict.ts";

describe("a member that is there twice", () => {
  it.each([
    ['{"a":1,"a":2}', "a"],
    ['{"a":1,"b":{"c":[{"d":1,"e":":","d":3}]}}', "d"],
    ['{"a":1,"\\u0061":2}', "a"],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{"":1,"x":"\\"","":2}', ""],
    [' { "k\\\\" : [ ] , "k\\\\" : { } } ', "k\\"],
  ])("is found in %s", (text, name) => {
    expect(() => parseStrict(text)).toThrow(`the member ${JSON.stringify(name)} is there twice`);
  });

  it("is found wherever it is put", () => {
    const object = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), {
      minKeys: 1,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(object, fc.nat(), fc.jsonValue(), (value, pick, other) => {
        const names = Object.keys(value);
        const name = names[pick % names.length];
        const text = JSON.stringify(value);
        expect(() =>
          parseStrict(`${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(other)}}`),
        ).toThrow("is there twice");
      }),
    );
  });
});

it("is not found where there is none", () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: "binary" }), (text) => {
      expect(parseStrict(text)).toEqual(JSON.parse(text));
    }),
  );
});

it.each(["", "{", '{"a":1}}', "{'a':1}", "[1,]", "NaN", "\ufeff{}"])("refuses %j", (text) => {
  expect(() => parseStrict(text)).toThrow(SyntaxError);
});

it("refuses what is nested so deep that a reader would fall over", () => {
  expect(() => parseStrict("[".repeat(100_000) + "]".repeat(100_000))).toThrow("nested");
});
