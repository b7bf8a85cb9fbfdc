import type { Floats } from "@reins/kit";
import type { z } from "zod";
import { compareUtf8 } from "../json/stringify.ts";
import { DecodeError, invalidLength, missingField } from "./decode-error.ts";
import type { Decoder } from "./decoder.ts";
import { shapeOf } from "./schema.ts";

/** What absence means for a member. */
type Absence = "missing" | "omitted" | "null" | "default";

/** One member of an object type, ready to be read. */
interface Field {
  readonly key: string;
  readonly decode: Decoder;
  readonly absence: Absence;
  readonly fallback: () => unknown;
}

/** The members of an object type in their declared order. */
export type Fields = readonly Field[];

/** Prepares the members of an object type; `decoderOf` is passed in because types refer to each other. */
export function fieldsOf(
  members: Readonly<Record<string, z.ZodType>>,
  decoderOf: (schema: z.ZodType) => Decoder,
): Fields {
  return Object.entries(members).map(([key, schema]) => {
    const shape = shapeOf(schema);
    const decode = decoderOf(schema);
    const field = { key, decode, fallback: nothing };
    if (shape.kind === "optional") return { ...field, absence: "omitted" };
    if (shape.kind === "nullable") return { ...field, absence: "null" };
    if (shape.kind === "defaulted") return { ...field, absence: "default", fallback: shape.fallback };
    return { ...field, absence: "missing" };
  });
}

type Members = Record<string, unknown>;

/** Reads the members of an object into `into`. */
export function readFields(
  value: Members,
  fields: Fields,
  floats: Floats | undefined,
  into: Members,
): Members {
  try {
    for (const field of fields) readField(value, field.key, field, floats, into);
    return into;
  } catch (error) {
    throw error instanceof DecodeError ? firstFault(value, fields, floats, error) : error;
  }
}

/** Reads an array that stands for an object, members in their declared order. */
export function readPositions(
  values: readonly unknown[],
  fields: Fields,
  floats: Floats | undefined,
  expected: string,
  into: Members,
): Members {
  for (const [index, field] of fields.entries()) {
    if (index >= values.length && field.absence !== "default") {
      throw invalidLength(index, `${expected} with ${fields.length} elements`);
    }
    readField(values, String(index), field, floats, into);
  }
  if (values.length > fields.length) throw invalidLength(values.length, "fewer elements in array");
  return into;
}

function readField(
  holder: object,
  at: string,
  field: Field,
  floats: Floats | undefined,
  into: Members,
): void {
  const value: unknown = Reflect.get(holder, at);
  if (value === undefined || (value === null && (field.absence === "omitted" || field.absence === "null"))) {
    if (field.absence === "missing") throw missingField(field.key);
    if (field.absence === "null") into[field.key] = null;
    if (field.absence === "default") into[field.key] = field.fallback();
    return;
  }
  try {
    into[field.key] = field.decode(value, holder, at, floats);
  } catch (error) {
    if (error instanceof DecodeError) error.path.unshift(field.key);
    throw error;
  }
}

/**
 * Peers check the members that are present in the order of their keys, and only then look for missing ones. The
 * happy path does not care; once something is wrong, this finds the fault that a peer would report.
 */
function firstFault(
  value: Members,
  fields: Fields,
  floats: Floats | undefined,
  found: DecodeError,
): DecodeError {
  const present = fields.filter((field) => value[field.key] !== undefined);
  for (const field of present.sort((left, right) => compareUtf8(left.key, right.key))) {
    try {
      readField(value, field.key, field, floats, {});
    } catch (error) {
      if (error instanceof DecodeError) return error;
      throw error;
    }
  }
  return found;
}

function nothing(): undefined {}
