import type { z } from "zod";
import { stringifySorted } from "../json/stringify.ts";
import { decode, isObject } from "./decode.ts";
import { type Shape, shapeOf } from "./schema.ts";

/**
 * Encodes a value of the protocol in its exact wire form; `around` is its nesting level. Throws {@link DecodeError}.
 */
export function encode(schema: z.ZodType, value: unknown, around = 0): string {
  return stringifySorted(withoutEmpty(schema, decode(schema, value)), around);
}

/** A decoded value without the lists that are not written when empty. */
function withoutEmpty(schema: z.ZodType, value: unknown): unknown {
  if (!mayOmit(schema)) return value;
  const shape = shapeOf(schema);
  switch (shape.kind) {
    case "optional":
    case "nullable":
      return value === null || value === undefined ? value : withoutEmpty(shape.inner, value);
    case "defaulted":
      return shape.omitEmpty && isEmpty(value) ? undefined : withoutEmpty(shape.inner, value);
    case "list":
      return Array.isArray(value) ? value.map((item) => withoutEmpty(shape.item, item)) : value;
    case "struct":
      return isObject(value) ? membersWithoutEmpty(shape.members, value) : value;
    default:
      return value;
  }
}

function membersWithoutEmpty(
  members: Readonly<Record<string, z.ZodType>>,
  value: Record<string, unknown>,
): object {
  const kept: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(members)) kept[key] = withoutEmpty(schema, value[key]);
  return kept;
}

const omitting = new WeakMap<z.ZodType, boolean>();

/** Whether a type has such a list at any depth. Few have, and the others need not be walked. */
function mayOmit(schema: z.ZodType): boolean {
  const known = omitting.get(schema);
  if (known !== undefined) return known;
  const found = findOmission(shapeOf(schema));
  omitting.set(schema, found);
  return found;
}

function findOmission(shape: Shape): boolean {
  switch (shape.kind) {
    case "optional":
    case "nullable":
      return mayOmit(shape.inner);
    case "defaulted":
      return shape.omitEmpty || mayOmit(shape.inner);
    case "list":
      return mayOmit(shape.item);
    case "struct":
      return Object.values(shape.members).some(mayOmit);
    default:
      return false;
  }
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
