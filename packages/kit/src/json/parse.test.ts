import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonError } from "../errors.ts";
import { exactNumber, spelledNumber } from "./numbers.ts";
import { duplicatesAtTop, MAX_NESTING, parseExact, parseJson, readJson, scan } from "./parse.ts";

/** The same values every time. fast-check prints seed and path of a failure. */
const PROPERTY = { seed: 20_260_204, numRuns: 200 } as const;

const faultIs = (fault: string) => expect.objectContaining({ name: "JsonError", fault });

/** Whether the member `n` of a one-member object was spelled as a float. */
function isFloat(spelling: string): boolean {
  const { value, floats } = parseJson(`{"n":${spelling}}`);
  if (typeof value !== "object" || value === null || !("n" in value)) throw new Error("not an object");
  // What has a fraction shows it by itself, and needs no mark.
  return (typeof value.n === "number" && !Number.isInteger(value.n)) || (floats?.has(value, "n") ?? false);
}

describe("numbers", () => {
  test.each([
    "1.0",
    "1e3",
    "1E+3",
    "0.5",
    "-0",
    "-0.0",
    "18446744073709551616",
    "-9223372036854775809",
    "100000000000000000000000",
  ])("%s is a float for peers", (spelling) => {
    expect(isFloat(spelling)).toBe(true);
  });

  test.each([
    "0",
    "-1",
    "1000",
    "9007199254740993",
    "1234567890123456789",
    "18446744073709551615",
    "-9223372036854775808",
  ])("%s is an integer for peers", (spelling) => {
    expect(isFloat(spelling)).toBe(false);
  });

  test("floats are known by where they stand, at any depth", () => {
    const { value, floats } = parseJson('{"a":[1,{"b":2.0}],"b":3}');
    const { a } = value as { a: [number, object] };
    expect(floats?.has(a[1], "b")).toBe(true);
    expect(floats?.has(a, "0")).toBe(false);
    expect(floats?.has(value as object, "b")).toBe(false);
  });

  test("elements of arrays are known by their index", () => {
    const { value, floats } = parseJson("[1,2.0]");
    expect(floats?.has(value as object, "0")).toBe(false);
    expect(floats?.has(value as object, "1")).toBe(true);
  });

  test.each(["1e400", "-1e400", "1".repeat(400), '{"a":[1e999]}'])("%s is out of range", (text) => {
    expect(() => parseJson(text)).toThrow(faultIs("number_out_of_range"));
  });

  test.each(["01", "1.", ".5", "+1", "NaN", "Infinity", "0x10", "1e"])("%s is no JSON", (text) => {
    expect(() => parseJson(text)).toThrow(faultIs("syntax"));
  });
});

describe("duplicate keys", () => {
  test.each([
    ["at the top", '{"a":1,"a":2}'],
    ["deep inside", '{"x":[{"y":{"a":1,"b":2,"a":3}}]}'],
    ["__proto__", '{"__proto__":1,"__proto__":2}'],
    ["spelled with an escape", '{"a":1,"\\u0061":2}'],
    ["the empty key", '{"":1,"":2}'],
    ["with the same value", '{"a":1.0,"a":1.0}'],
  ])("%s are noticed", (_, text) => {
    expect(parseJson(text).duplicateKeys).toBe(true);
  });

  test.each([
    ['{"a":1,"a":2}', "a"],
    ['{"x":[0,{},{"y":{"a":[1,2],"b":{"a":1},"a":3}}]}', "x.2.y.a"],
    ['[{"a":1},{"a":2},[{"\\u0061":",","a":{}}]]', "2.0.a"],
    ['{"a":[],"b":"a:,","c":[[],[]],"b":1}', "b"],
    ['{"":1,"":2}', ""],
  ])("of %s are named with their path", (text, path) => {
    expect(readJson(text).duplicate).toBe(path);
  });

  test.each([
    ["keys of different objects", '[{"a":1},{"a":2}]'],
    ["a key inside its own value", '{"a":{"a":{"a":1}}}'],
    ["__proto__ once", '{"__proto__":{"a":1},"a":2}'],
    ["keys that differ in case", '{"a":1,"A":2}'],
    ["colons in strings", '{"a":"b:c","d":":"}'],
  ])("%s are none", (_, text) => {
    expect(parseJson(text).duplicateKeys).toBe(false);
  });

  test("the last one wins, also in how its number was spelled", () => {
    const { value, floats } = parseJson('{"a":1.0,"a":2,"b":2.0}');
    expect(value).toEqual({ a: 2, b: 2 });
    expect(floats?.has(value as object, "a")).toBe(false);
    expect(floats?.has(value as object, "b")).toBe(true);
  });
});

describe("text", () => {
  test("__proto__ is a member like any other", () => {
    const { value } = parseJson('{"__proto__":{"admin":true},"n":1.5}');
    expect(Object.keys(value as object)).toEqual(["__proto__", "n"]);
    expect((value as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each([
    ["a byte order mark", "\ufeff{}"],
    ["something after the value", "{} x"],
    ["two values", "{}{}"],
    ["nothing", ""],
    ["white space alone", " \n"],
    ["a comment", "{}//"],
    ["a comma too many", "[1,]"],
    ["a raw line feed in a string", '"a\nb"'],
    ["an unfinished string", '{"a'],
    ["a closing bracket too many", "[]]"],
    ["single quotes", "{'a':1}"],
  ])("%s is refused", (_, text) => {
    expect(() => parseJson(text)).toThrow(faultIs("syntax"));
  });

  test("white space around the value is fine", () => {
    expect(parseJson(' \r\n\t{"a" : 1}\n').value).toEqual({ a: 1 });
  });

  test.each([
    ["raw in a string", '"\ud800"'],
    ["raw in a key", '{"\udc00":1}'],
    ["half raw, half escaped", '"\ud83d\\ude00"'],
    ["outside of strings", "\ud800"],
    ["escaped in a key", '{"\\ud800":1}'],
  ])("a lone surrogate %s is refused", (_, text) => {
    expect(() => parseJson(text)).toThrow(faultIs("lone_surrogate"));
  });

  test("nesting deeper than a peer reads is refused before it is parsed", () => {
    expect(parseJson("[".repeat(127) + "]".repeat(127)).value).toHaveLength(1);
    expect(() => parseJson("[".repeat(100_000))).toThrow(faultIs("too_deep"));
  });
});

describe("whatever the text", () => {
  const almostJson = fc
    .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.string({ maxLength: 3, unit: "binary" }))
    .map(
      ([text, at, noise]) =>
        text.slice(0, at % (text.length + 1)) + noise + text.slice(at % (text.length + 1)),
    );

  const soup = fc
    .array(
      fc.constantFrom(
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"a"',
        '"\\u',
        "d800",
        "\ud800",
        '"',
        "\\",
        "-",
        "0",
        "1e5",
        ".",
        " ",
      ),
    )
    .map((tokens) => tokens.join(""));

  test.each([
    ["any JSON", fc.json({ stringUnit: "binary" })],
    ["JSON with something put into it", almostJson],
    ["JSON tokens in any order", soup],
    ["any string", fc.string({ unit: "binary" })],
  ])("%s: only JsonError is thrown, and what passes means what JSON says", (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseOrFault(text);
        if (parsed instanceof JsonError) return;
        expect(parsed.value).toStrictEqual(JSON.parse(text));
      }),
      PROPERTY,
    );
  });

  test("well-formed JSON of ordinary depth is never refused", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10, stringUnit: "grapheme" }), (value) => {
        expect(parseJson(JSON.stringify(value)).duplicateKeys).toBe(false);
      }),
      PROPERTY,
    );
  });
});

function parseOrFault(text: string) {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}

test.each([
  ["lists", "[", "]"],
  ["objects", '{"a":', "}"],
  ["both, with texts that hold brackets and quotes", '{"[\\"{":[', "]}"],
])("exact parsing refuses %s that are nested deeper than recursion can follow", (_, open, close) => {
  const levels = open.endsWith("[") && open.startsWith("{") ? 2 : 1;
  const nest = (depth: number) => `${open.repeat(depth / levels)}1${close.repeat(depth / levels)}`;
  expect(JSON.stringify(parseExact(nest(512)))).toBe(nest(512));
  for (const depth of [514, 5_000, 1_000_000])
    expect(() => parseExact(nest(depth))).toThrow(faultIs("too_deep"));
  const flat = JSON.stringify({ text: "[{".repeat(5_000), list: Array(5_000).fill([]) });
  expect(JSON.stringify(parseExact(flat))).toBe(flat);
});

test.each([
  ['{"id":"a","id":"b"}', ["id"]],
  ['{"a":1,"b":2,"a":3,"b":4,"c":5}', ["a", "b"]],
  ['{ "id" : 1 , "id"\n: 2 }', ["id"]],
  ['{"id":1,"\\u0069d":2}', ["id"]],
  ['{"a\\"b":1,"a\\"b":2}', ['a"b']],
  ['{"\\\\":1,"\\\\":2}', ["\\"]],
  ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
  ['{"a":1,"a":2,"a":3}', ["a"]],
])("%s repeats %j", (text, keys) => {
  expect([...duplicatesAtTop(text)]).toEqual(keys);
});

test.each([
  ["only inside", '{"params":{"a":1,"a":2}}'],
  ["only inside an array", '{"params":[{"a":1},{"a":2,"a":3}]}'],
  ["in a value", '{"a":"a","b":"a"}'],
  ["in a text that looks like JSON", '{"a":"{\\"a\\":1}","b":"\\"a\\":"}'],
  ["in an array of strings", '{"a":["a","a"]}'],
  ["not at all", "[1,2]"],
])("a key repeated %s does not count", (_, text) => {
  expect([...duplicatesAtTop(text)]).toEqual([]);
});

test("a very long string is no obstacle", () => {
  const plain = "x".repeat(5_000_000);
  const escaped = '\\"'.repeat(2_000_000);
  expect([...duplicatesAtTop(`{"id":"${plain}","id":"${escaped}"}`)]).toEqual(["id"]);
});

const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",")}}`;
const objects = (count: number) => `[${Array(count).fill('{"a" : 1}').join(",")}]`;

describe("a text with very many members", () => {
  test.each([
    ["in one object", keys(200_001)],
    ["in many objects", objects(200_001)],
  ])("is refused before it is built: %s", (_, text) => {
    expect(() => parseJson(text)).toThrow("more than 200000 members");
    expect(() => parseExact(text)).toThrow("more than 200000 members");
  });

  test("is read up to the bound, and however many a string in it has", () => {
    const inside = JSON.stringify({ content: objects(250_000) });
    expect(Object.keys(Object(parseJson(keys(200_000)).value))).toHaveLength(200_000);
    for (const parse of [(text: string) => parseJson(text).value, parseExact])
      expect(Object(parse(inside)).content).toHaveLength(objects(250_000).length);
  });
});

describe("a text with very many values", () => {
  const lists = (value: string, count: number) => `[${Array(count).fill(value).join(",")}]`;

  test.each([
    ["numbers", lists("1", 2_000_002)],
    ["empty lists", lists("[]", 1_000_001)],
    ["empty objects", lists("{}", 1_000_001)],
    ["lists in a member", `{"a":${lists("[0]", 1_000_001)}}`],
  ])("is refused before it is built: %s", (_, text) => {
    for (const parse of [parseJson, parseExact])
      expect(() => parse(text)).toThrow(faultIs("too_many_values"));
  });

  test("is read up to the bound, and however many a string in it has", () => {
    expect(parseExact(lists("1", 2_000_000))).toHaveLength(2_000_000);
    const inside = JSON.stringify([lists("1", 2_100_000)]);
    expect(parseExact(inside)).toEqual([lists("1", 2_100_000)]);
  });
});

const nestedArrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const nestedObjects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

describe("nesting", () => {
  test.each([
    ["arrays", nestedArrays],
    ["objects", nestedObjects],
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
  test.each([
    "1.50",
    "1.0",
    "0.1234567",
    "1234567890.5",
    "1.5e3",
    "1e3",
    "1E3",
    "-0",
    "-0.5",
    "[1,2e1]",
    "1234567890123456",
    '{"a":[{"b":1.0}]}',
  ])("%s is one", (text) => {
    expect(scan(text).delicateNumbers).toBe(true);
  });

  test.each([
    "0",
    "1",
    "-1",
    "1.5",
    "-12.25",
    "0.000001",
    "123456789.123456",
    "123456789012345",
    '"1.5e3"',
    '{"1.5":true}',
    "[10,200,-30]",
  ])("%s is none", (text) => {
    expect(scan(text).delicateNumbers).toBe(false);
  });
});

test("a number is delicate, or both readers make the plain number of it", () => {
  const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 18 });
  const fraction = fc.option(
    digits.map((text) => `.${text}`),
    { nil: "" },
  );
  const exponent = fc.option(fc.constantFrom("e3", "E-3", "e+21"), { nil: "" });
  const number = fc
    .tuple(
      fc.constantFrom("", "-"),
      digits.map((text) => text.replace(/^0+(?=.)/, "")),
      fraction,
      exponent,
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(number, (text) => {
      if (scan(text, 1).delicateNumbers) return;
      expect([exactNumber(text), spelledNumber(text)]).toEqual([JSON.parse(text), JSON.parse(text)]);
    }),
    { ...PROPERTY, numRuns: 2_000 },
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
    expect(() => parseJson(text)).not.toThrow();
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
    expect(() => parseJson(text)).toThrow(faultIs("lone_surrogate"));
  });
});

test("what is not JSON is left to the parser", () => {
  for (const text of ["", "]]]", '"open', '"\\', '"\\u', "{]", "\u0000", "nul"]) {
    expect(() => scan(text)).not.toThrow(JsonError);
  }
});
