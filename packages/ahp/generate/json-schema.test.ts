import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { DecodeError, decode } from "../src/wire/decode.ts";
import { choice, i64, map, nullable, optional, struct, text, u32, u64 } from "../src/wire/schema.ts";
import { mutated, PROPERTY, valuesOf } from "../test/values.ts";
import { readVectors } from "../test/vectors.ts";
import { jsonSchemas, SCHEMA_FOLDER, schemaFiles, TYPES } from "./json-schema.ts";

/** The published files, as a stranger's validator reads them. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
for (const name of Object.keys(TYPES)) {
  ajv.addSchema(JSON.parse(readFileSync(new URL(`${name}.json`, SCHEMA_FOLDER), "utf8")));
}

function accepts(type: string, value: unknown): boolean {
  const validate = ajv.getSchema(`${type}.json`);
  if (!validate) throw new Error(`no schema ${type}`);
  return validate(value) === true;
}

describe("the recorded values of upstream", () => {
  /** What only upstream's decoder accepts. */
  const ACCIDENTS = {
    "an array that stands for an object": [114, 297, 309],
    "an object that stands for a word": [155, 264],
  };
  const accidents = new Set(Object.values(ACCIDENTS).flat());
  const readable = readVectors().types.filter(({ err }) => !err?.startsWith("JSON: "));

  test.each(readable)("vector $line: $type $in", ({ line, type, in: text, err }) => {
    const same = accepts(type, JSON.parse(text)) === (err === undefined);
    expect(same).toBe(!accidents.has(line));
  });

  /** Upstream writes `null` for a number that single precision cannot hold, and then cannot read it. */
  const UNREADABLE = [262];
  const written = readable.flatMap(({ line, type, out }) => (out === undefined ? [] : [{ line, type, out }]));

  test.each(written)("vector $line, as upstream wrote it: $type $out", ({ line, type, out }) => {
    expect(accepts(type, JSON.parse(out))).toBe(!UNREADABLE.includes(line));
  });
});

test.each(Object.entries(TYPES))("%s: the schema accepts what the decoder accepts", (name, schema) => {
  const values = valuesOf(schema);
  fc.assert(
    fc.property(fc.oneof(values, mutated(values)), (value) => {
      expect(accepts(name, value)).toBe(decodes(schema, value));
    }),
    { ...PROPERTY, numRuns: 60 },
  );
});

function decodes(schema: z.ZodType, value: unknown): boolean {
  try {
    decode(schema, value);
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

describe("a schema", () => {
  const Inner = struct("Inner", { a: text });
  const types = {
    Inner,
    Outer: struct("Outer", {
      small: u32,
      large: optional(u64),
      signed: nullable(i64),
      word: optional(choice("Word", ["a", "b"])),
      inner: optional(Inner),
      held: nullable(Inner),
      anything: optional(map),
    }),
  };
  const { Outer } = jsonSchemas(types, new Map([["Outer", "What is outside."]]));

  test("begins with what it is", () => {
    expect(Object.entries(Outer ?? {}).slice(0, 5)).toEqual([
      ["$schema", "https://json-schema.org/draft/2020-12/schema"],
      ["$id", "Outer.json"],
      ["title", "Outer"],
      ["description", "What is outside."],
      ["type", "object"],
    ]);
  });

  test("requires what has no default and may not be absent", () => {
    expect(Outer?.required).toEqual(["small"]);
  });

  test("knows integers and their bounds, null for absent members, and its neighbours", () => {
    expect(Outer?.properties).toEqual({
      small: { type: "integer", minimum: 0, maximum: 4294967295 },
      large: { type: ["integer", "null"], minimum: 0, maximum: 2 ** 64 },
      signed: {
        anyOf: [{ type: "integer", minimum: -(2 ** 63), maximum: 2 ** 63 }, { type: "null" }],
        default: null,
      },
      word: { anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }] },
      inner: { anyOf: [{ $ref: "Inner.json" }, { type: "null" }] },
      held: { anyOf: [{ $ref: "Inner.json" }, { type: "null" }], default: null },
      anything: { type: ["object", "null"] },
    });
  });
});

test("the files spell the ends of 64-bit integers exactly", () => {
  const file = (name: string) => readFileSync(new URL(name, SCHEMA_FOLDER), "utf8");
  expect(file("IdleEvent.json")).toContain('"maximum": 18446744073709551615');
  expect(file("HistoryItem.json")).toContain('"minimum": -9223372036854775808');
  expect(file("HistoryItem.json")).toContain('"maximum": 9223372036854775807');
});

const files = schemaFiles();
const advice = "the schemas are not current; run `node packages/ahp/generate/write.ts`";

test("there is a schema for every type of the protocol", () => {
  expect([...files.keys()].sort()).toEqual(
    Object.keys(TYPES)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

test("the folder holds these files and no others", () => {
  expect(readdirSync(SCHEMA_FOLDER).sort(), advice).toEqual([...files.keys()].sort());
});

test.each([...files])("%s is current", (name, text) => {
  expect(readFileSync(new URL(name, SCHEMA_FOLDER), "utf8"), advice).toBe(text);
});

test.each([...files])("%s says what it is about", (_, text) => {
  expect(JSON.parse(text).description).toMatch(/^[A-Z].*[.]$/);
});
