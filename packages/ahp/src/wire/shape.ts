import type { z } from "zod";

/** The integer types of the protocol and the values they hold. */
export const INTEGERS = {
  u32: { least: 0, greatest: 2 ** 32 - 1 },
  u64: { least: 0, greatest: 2 ** 64 },
  usize: { least: 0, greatest: 2 ** 64 },
  i32: { least: -(2 ** 31), greatest: 2 ** 31 - 1 },
  i64: { least: -(2 ** 63), greatest: 2 ** 63 },
} as const;

/** Name of an integer type of the protocol. */
export type IntegerName = keyof typeof INTEGERS;

/**
 * What a zod schema alone does not say about the wire. The decoder reads it beside the schema; the names are
 * those that peers use in their error texts.
 */
export type Shape =
  | { readonly kind: "text" }
  | { readonly kind: "boolean" }
  | { readonly kind: "any" }
  | { readonly kind: "map" }
  | { readonly kind: "integer"; readonly integer: IntegerName }
  | { readonly kind: "f32" }
  | { readonly kind: "list"; readonly item: z.ZodType }
  | { readonly kind: "struct"; readonly name: string; readonly members: Readonly<Record<string, z.ZodType>> }
  | { readonly kind: "optional"; readonly inner: z.ZodType }
  | { readonly kind: "nullable"; readonly inner: z.ZodType }
  | {
      readonly kind: "defaulted";
      readonly inner: z.ZodType;
      readonly fallback: () => unknown;
      readonly omitEmpty: boolean;
    }
  | {
      readonly kind: "choice";
      readonly name: string;
      readonly units: readonly string[];
      readonly open: string | undefined;
    }
  | {
      readonly kind: "external";
      readonly name: string;
      readonly variants: Readonly<Record<string, z.ZodType>>;
    }
  | {
      readonly kind: "internal";
      readonly name: string;
      readonly tag: string;
      readonly variants: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>>;
    };

const shapes = new WeakMap<z.ZodType, Shape>();

/** Says what a schema is on the wire, and gives the schema back. */
export function shaped<Schema extends z.ZodType>(schema: Schema, shape: Shape): Schema {
  shapes.set(schema, shape);
  return schema;
}

/** Whether a schema was made with the constructors of `schema.ts`. */
export function isShaped(schema: z.ZodType): boolean {
  return shapes.has(schema);
}

/** The shape of a schema; a schema that has none was not made with the constructors of `schema.ts`. */
export function shapeOf(schema: z.ZodType): Shape {
  const shape = shapes.get(schema);
  if (!shape) throw new TypeError("this schema was not made with the constructors of wire/schema.ts");
  return shape;
}
