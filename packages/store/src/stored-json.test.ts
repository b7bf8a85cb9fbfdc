import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseStored } from "./stored-json.ts";

test("a name with an escape is read as it was stored, whatever was parsed before", () => {
  // JSON.parse takes "\n" for the name "\\" that it has seen at the same place.
  expect(parseStored('{"a":1,"\\\\":2}')).toEqual({ a: 1, "\\": 2 });
  expect(parseStored('{"a":1,"\\n":2}')).toEqual({ a: 1, "\n": 2 });
  expect(parseStored('{"a":1,"\\"":2}')).toEqual({ a: 1, '"': 2 });
});

test("what was stored comes back", () => {
  const names = fc.string({ unit: fc.constantFrom("\\", "\n", '"', "a", "/", "\u2028"), maxLength: 4 });
  const value = fc.dictionary(
    names,
    fc.oneof(fc.jsonValue(), fc.dictionary(names, fc.double({ noNaN: true }))),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 6 }), (values) => {
      for (const each of values) {
        const text = JSON.stringify(each);
        expect(JSON.stringify(parseStored(text))).toBe(text);
      }
    }),
  );
});

test("numbers are those of JavaScript", () => {
  expect(parseStored('{"\\n":[1e21,0.1,-0,5e-324,9007199254740993]}')).toEqual({
    "\n": [1e21, 0.1, -0, 5e-324, 9007199254740992],
  });
});
