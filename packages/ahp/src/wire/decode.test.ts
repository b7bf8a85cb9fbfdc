import { parseJson } from "@reins/kit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DecodeError, decode } from "./decode.ts";
import {
  answer,
  any,
  boolean,
  choice,
  decision,
  external,
  f32,
  i32,
  i64,
  list,
  map,
  nullable,
  openChoice,
  struct,
  text,
  u32,
  u64,
  usize,
} from "./schema.ts";

/** Reads a JSON text as a type, as a server does: inside something else, which keeps how numbers were spelled. */
function read(schema: z.ZodType, json: string): unknown {
  const { value, floats } = parseJson(`[${json}]`);
  return decode(list(schema), value, floats)[0];
}

function faultOf(schema: z.ZodType, json: string): DecodeError {
  try {
    read(schema, json);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
  throw new Error(`${json} was accepted`);
}

const Colour = choice("Colour", ["red", "green"]);
const Shade = choice("Shade", ["red", "green", "blue"]);
const Own = openChoice("Own", ["plain", "simple"], z.strictObject({ custom: text }));
const Point = struct("Point", { x: u32, y: u32 });
const Thing = external("Thing", [
  z.strictObject({ point: Point }),
  z.strictObject({ label: struct("Label", { name: text, note: nullable(text) }) }),
]);
const Verdict = decision("Verdict", [
  answer("allow", {}),
  answer("defer", { ms: u64, reason: nullable(text) }),
]);

describe("scalars are taken as they are", () => {
  test.each([
    ["text", text, '"a"', "a"],
    ["the empty text", text, '""', ""],
    ["boolean", boolean, "false", false],
    ["any", any, '{"a":[null]}', { a: [null] }],
    ["any, null", any, "null", null],
    ["map", map, '{"a":1.5}', { a: 1.5 }],
    ["map with __proto__", map, '{"__proto__":{"a":1}}', JSON.parse('{"__proto__":{"a":1}}')],
    ["list", list(text), '["a","b"]', ["a", "b"]],
    ["empty list", list(text), "[]", []],
    ["u32, least", u32, "0", 0],
    ["u32, greatest", u32, "4294967295", 4294967295],
    ["i32, least", i32, "-2147483648", -2147483648],
    ["i32, greatest", i32, "2147483647", 2147483647],
    ["u64, greatest", u64, "18446744073709551615", 2 ** 64],
    ["i64, least", i64, "-9223372036854775808", -(2 ** 63)],
    ["usize", usize, "9007199254740991", 9007199254740991],
    ["f32 from a float", f32, "0.9", Math.fround(0.9)],
    ["f32 from an integer", f32, "7", 7],
    ["f32, negative", f32, "-1", -1],
    ["f32, too large for single precision", f32, "1e39", Number.POSITIVE_INFINITY],
    ["plain choice", Colour, '"green"', "green"],
    ["a word of the sender's own", Own, '{"custom":"mine"}', { custom: "mine" }],
  ])("%s", (_, schema: z.ZodType, json, value) => {
    expect(read(schema, json)).toStrictEqual(value);
  });
});

describe("what is wrong is said as peers say it", () => {
  test.each<[string, string, z.ZodType]>([
    ["5", "invalid type: integer `5`, expected a string", text],
    ["1.0", "invalid type: floating point `1.0`, expected a string", text],
    ["-0", "invalid type: floating point `-0.0`, expected a string", text],
    ["true", "invalid type: boolean `true`, expected a string", text],
    ["null", "invalid type: null, expected a string", text],
    ["[]", "invalid type: sequence, expected a string", text],
    ["{}", "invalid type: map, expected a string", text],
    ['"true"', 'invalid type: string "true", expected a boolean', boolean],
    ["1", "invalid type: integer `1`, expected a boolean", boolean],
    ["[]", "invalid type: sequence, expected a map", map],
    ['"a\\"b"', 'invalid type: string "a\\"b", expected a map', map],
    ["{}", "invalid type: map, expected a sequence", list(text)],
    ['"a"', 'invalid type: string "a", expected a sequence', list(text)],
    ["[1]", "invalid type: integer `1`, expected a string", list(text)],
    ["1.0", "invalid type: floating point `1.0`, expected u32", u32],
    ["1e3", "invalid type: floating point `1000.0`, expected u32", u32],
    ["0.5", "invalid type: floating point `0.5`, expected u32", u32],
    ["-1", "invalid value: integer `-1`, expected u32", u32],
    ["4294967296", "invalid value: integer `4294967296`, expected u32", u32],
    ['"1"', 'invalid type: string "1", expected u32', u32],
    ["-1", "invalid value: integer `-1`, expected u64", u64],
    ["18446744073709551616", "invalid type: floating point `18446744073709551616.0`, expected u64", u64],
    ["null", "invalid type: null, expected usize", usize],
    ["2147483648", "invalid value: integer `2147483648`, expected i32", i32],
    ["-2147483649", "invalid value: integer `-2147483649`, expected i32", i32],
    ["1.5", "invalid type: floating point `1.5`, expected i64", i64],
    ['"0.5"', 'invalid type: string "0.5", expected f32', f32],
    ["null", "invalid type: null, expected f32", f32],
    ['"pink"', "unknown variant `pink`, expected `red` or `green`", Colour],
    ['"pink"', "unknown variant `pink`, expected one of `red`, `green`, `blue`", Shade],
    ['"Red"', "unknown variant `Red`, expected one of `red`, `green`, `blue`", Shade],
    ["5", "invalid type: integer `5`, expected string or map", Colour],
    ["null", "invalid type: null, expected string or map", Colour],
    ["{}", "invalid value: map, expected map with a single key", Colour],
    ['"custom"', "invalid type: unit variant, expected newtype variant", Own],
    ['"other"', "unknown variant `other`, expected one of `plain`, `simple`, `custom`", Own],
    ['{"custom":5}', "invalid type: integer `5`, expected a string", Own],
    ['{"custom":"a","b":1}', "invalid value: map, expected map with a single key", Own],
    ["null", "invalid type: null, expected struct Point", Point],
    ['"p"', 'invalid type: string "p", expected struct Point', Point],
    ["{}", "missing field `x`", Point],
    ['"point"', "invalid type: unit variant, expected struct variant", Thing],
    ['"line"', "unknown variant `line`, expected `point` or `label`", Thing],
    ['{"line":{}}', "unknown variant `line`, expected `point` or `label`", Thing],
    ["{}", "invalid value: map, expected map with a single key", Thing],
    ['{"point":{"x":1,"y":2},"label":{}}', "invalid value: map, expected map with a single key", Thing],
    ['{"point":5}', "invalid type: integer `5`, expected struct variant", Thing],
    ['"allow"', 'invalid type: string "allow", expected internally tagged enum Verdict', Verdict],
    ["{}", "missing field `decision`", Verdict],
    ['{"decision":"Allow"}', "unknown variant `Allow`, expected `allow` or `defer`", Verdict],
    ['{"decision":5}', "invalid type: integer `5`, expected variant identifier", Verdict],
    ['{"decision":"defer"}', "missing field `ms`", Verdict],
  ])("%s: %s", (json, message, schema) => {
    expect(faultOf(schema, json).message).toBe(message);
  });
});

describe("where it is wrong", () => {
  const Outer = struct("Outer", { points: list(Point), thing: Thing, own: Own, verdict: Verdict });
  const good = {
    points: [{ x: 1, y: 2 }],
    thing: { point: { x: 1, y: 2 } },
    own: "plain",
    verdict: { decision: "allow" },
  };

  test.each([
    [
      {
        points: [
          { x: 1, y: 2 },
          { x: 1, y: "2" },
        ],
      },
      ["points", 1, "y"],
    ],
    [{ points: 5 }, ["points"]],
    [{ thing: { point: { x: -1, y: 2 } } }, ["thing", "point", "x"]],
    [{ own: { custom: 5 } }, ["own", "custom"]],
    [{ verdict: { decision: "defer", ms: 1.5 } }, ["verdict", "ms"]],
  ])("%j", (part, path) => {
    expect(faultOf(Outer, JSON.stringify({ ...good, ...part })).path).toEqual([0, ...path]);
  });
});

describe("tagged values", () => {
  test("hold their variant's members and drop the others", () => {
    expect(read(Verdict, '{"ms":5,"x":1,"decision":"defer"}')).toStrictEqual({
      decision: "defer",
      ms: 5,
      reason: null,
    });
    expect(read(Verdict, '{"decision":"allow","reason":"r"}')).toStrictEqual({ decision: "allow" });
    expect(read(Thing, '{"label":{"name":"n","x":1}}')).toStrictEqual({ label: { name: "n", note: null } });
  });
});

describe("accidents of upstream that no schema describes", () => {
  test("an array stands for an object, its members in their declared order", () => {
    expect(read(Point, "[1,2]")).toStrictEqual({ x: 1, y: 2 });
    expect(read(Thing, '{"point":[1,2]}')).toStrictEqual({ point: { x: 1, y: 2 } });
    expect(read(Verdict, '["defer",5,null]')).toStrictEqual({ decision: "defer", ms: 5, reason: null });
  });

  test.each<[string, string, z.ZodType]>([
    ["[]", "invalid length 0, expected struct Point with 2 elements", Point],
    ["[1]", "invalid length 1, expected struct Point with 2 elements", Point],
    ["[1,2,3]", "invalid length 3, expected fewer elements in array", Point],
    ['[1,"2"]', 'invalid type: string "2", expected u32', Point],
    ["[1,2.0]", "invalid type: floating point `2.0`, expected u32", Point],
    ["[]", "invalid type: null, expected variant identifier", Verdict],
    ['["defer"]', "invalid length 0, expected struct variant Verdict::Defer with 2 elements", Verdict],
  ])("but not any array: %s: %s", (json, message, schema) => {
    expect(faultOf(schema, json).message).toBe(message);
  });

  test("a word may be the only key of an object that holds null", () => {
    expect(read(Colour, '{"red":null}')).toBe("red");
    expect(faultOf(Colour, '{"red":1}').message).toBe("invalid type: integer `1`, expected unit");
  });
});

test("a schema that zod alone made has no form on the wire", () => {
  expect(() => decode(z.string(), "a")).toThrow(TypeError);
});
