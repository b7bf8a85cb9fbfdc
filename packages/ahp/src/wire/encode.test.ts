import { JsonError, parseJson } from "@reins/kit";
import { expect, test } from "vitest";
import { TYPES } from "../../generate/json-schema.ts";
import { readVectors } from "../../test/vectors.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";

const { types } = readVectors();

/** Upstream spells some numbers as JavaScript does not; as JSON they are equal. */
const SPELLED_DIFFERENTLY = [98, 122, 123, 126, 265, 266, 267, 270, 272, 274, 275, 277];

const messageIs = (message: string) => expect.objectContaining({ name: "DecodeError", message });

test.each(types)("vector $line: $type $in", (vector) => {
  const schema = TYPES[vector.type];
  if (!schema) throw new Error(`no type ${vector.type}`);
  const roundTrip = () => {
    const parsed = parseJson(vector.in);
    return encode(schema, decode(schema, parsed.value, parsed.floats));
  };
  if (vector.err?.startsWith("JSON: ")) return expect(roundTrip).toThrow(JsonError);
  if (vector.err !== undefined) return expect(roundTrip).toThrow(messageIs(vector.err));
  const written = roundTrip();
  expect(asJson(written)).toEqual(asJson(vector.out));
  expect(written === vector.out).toBe(!SPELLED_DIFFERENTLY.includes(vector.line));
});

/** Numbers compared as numbers: `-0` is `0`. */
function asJson(text: string | undefined): unknown {
  return JSON.parse(text ?? "", (_, value) => (value === 0 ? 0 : value));
}
