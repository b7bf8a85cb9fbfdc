import fc from "fast-check";
import { expect, it } from "vitest";
import { parseJson } from "./parse.ts";

it("reads names with escapes as they are written, whatever was read before", () => {
  const names = ['"', "\n", "a\\", 'a"', "\u0000b", "\\u0061", "é\\"];
  for (const [place, seen] of names.entries())
    for (const name of names) {
      // A first name of its own: the engine guesses the second only where it has seen one.
      const first = `first ${place} ${name}`;
      parseJson(JSON.stringify({ [first]: 1, [`${seen}\\`]: 1, [seen]: 2 }));
      parseJson(`{${JSON.stringify(first)}:1,"\\\\":1}`);
      expect(parseJson(JSON.stringify({ [first]: 1, [name]: 2 }))).toEqual({ [first]: 1, [name]: 2 });
    }
});

it("reads a name that is written with an escape it does not need", () => {
  parseJson('{"one of a kind":1,"\\\\u0063o":1}');
  expect(parseJson('{"one of a kind":1,"\\u0063ommand":2}')).toEqual({ "one of a kind": 1, command: 2 });
});

it("reads everything else as the engine does", () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: "binary" }), fc.string({ unit: "binary" }), (text, name) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
      const inside = `{${JSON.stringify(`\\${name}`)}: [ ${text} ,{ }, []] }`;
      expect(parseJson(inside)).toEqual({ [`\\${name}`]: [JSON.parse(text), {}, []] });
    }),
  );
  expect(() => parseJson('{"a\\":1}')).toThrow(SyntaxError);
  expect(Object.keys(Object(parseJson('{"__proto__":{"\\n":1}}')))).toEqual(["__proto__"]);
});

it("leaves what is nested too deep to the engine, which falls over nothing", () => {
  const deep = `${'[{"\\n":'.repeat(5_000)}1${"}]".repeat(5_000)}`;
  expect(parseJson(deep)).toBeInstanceOf(Array);
});
