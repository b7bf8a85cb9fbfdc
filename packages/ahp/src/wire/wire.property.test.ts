import { parseJson } from "@reins/kit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { TYPES } from "../../generate/json-schema.ts";
import { mutated, PROPERTY, valuesOf } from "../../test/values.ts";
import { stringifySorted } from "../json/stringify.ts";
import { DecodeError, decode, isObject } from "./decode.ts";
import { encode } from "./encode.ts";
import { shapeOf } from "./schema.ts";

const runs = { ...PROPERTY, numRuns: 40 };

describe.each(Object.entries(TYPES))("%s", (_, schema) => {
  const values = valuesOf(schema);

  test("what is written is read back as it was", () => {
    fc.assert(
      fc.property(values, (value) => {
        const typed = decode(schema, value);
        const { value: again, floats } = parseJson(encode(schema, typed));
        expect(withoutNegativeZero(decode(schema, again, floats))).toStrictEqual(withoutNegativeZero(typed));
      }),
      runs,
    );
  });

  test("writing what was written changes nothing, and its keys are sorted", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = encode(schema, value);
        const plain: unknown = JSON.parse(text);
        expect(encode(schema, plain)).toBe(text);
        expect(text).toBe(sortedByBytes(plain));
      }),
      runs,
    );
  });

  test("zod accepts what the decoder accepts, and gives the same value", () => {
    fc.assert(
      fc.property(fc.oneof(values, mutated(values)), (value) => {
        const parsed = schema.safeParse(value);
        const decoded = decodeOrError(schema, value);
        if (decoded instanceof DecodeError) expect(parsed.success, decoded.message).toBe(false);
        else expect(parsed).toEqual({ success: true, data: decoded });
      }),
      { ...runs, numRuns: 100 },
    );
  });
});

const objectTypes = Object.entries(TYPES).filter(([, schema]) =>
  ["struct", "internal"].includes(shapeOf(schema).kind),
);

test.each(objectTypes)("%s drops unknown members", (_, schema) => {
  fc.assert(
    fc.property(valuesOf(schema), (value) => {
      if (!isObject(value)) throw new Error("not an object");
      const more = { ...value, member_nobody_knows: { a: [1] } };
      expect(decode(schema, more)).toStrictEqual(decode(schema, value));
    }),
    { ...PROPERTY, numRuns: 10 },
  );
});

function decodeOrError(schema: z.ZodType, value: unknown): unknown {
  try {
    return decode(schema, value);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

/** JSON texts of this package have no `-0`. */
function withoutNegativeZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Sorted JSON, written down a second time and more simply. */
function sortedByBytes(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedByBytes).join(",")}]`;
  if (!isObject(value)) return stringifySorted(value);
  const keys = Object.keys(value).sort((left, right) =>
    Buffer.compare(Buffer.from(left), Buffer.from(right)),
  );
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sortedByBytes(value[key])}`).join(",")}}`;
}
