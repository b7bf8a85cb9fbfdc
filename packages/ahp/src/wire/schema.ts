import { z } from "zod";

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

/** Records what a schema is on the wire, and returns the schema. */
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

function integer(name: IntegerName) {
  const { least, greatest } = INTEGERS[name];
  const schema = z.number().min(least).max(greatest).refine(Number.isInteger, "expected an integer");
  return shaped(schema, { kind: "integer", integer: name });
}

/** Any string. */
export const text = shaped(z.string(), { kind: "text" });
/** `true` or `false`. */
export const boolean = shaped(z.boolean(), { kind: "boolean" });
/** Any JSON value, `null` included; absence is not a value. */
export const any = shaped(
  z.unknown().refine((value): boolean => value !== undefined, "required"),
  { kind: "any" },
);
/** An object with arbitrary members. */
export const map = shaped(z.record(z.string(), z.unknown()), { kind: "map" });
/** 32-bit unsigned integer. */
export const u32 = integer("u32");
/** 64-bit unsigned integer. */
export const u64 = integer("u64");
/** A count; 64-bit unsigned on the wire. */
export const usize = integer("usize");
/** 32-bit signed integer. */
export const i32 = integer("i32");
/** 64-bit signed integer. */
export const i64 = integer("i64");
/** A number that peers hold in single precision: `0.9` comes back as `0.8999999761581421`. */
export const f32 = shaped(z.number().overwrite(Math.fround), { kind: "f32" });

/** An array of one kind of item. */
export function list<Item extends z.ZodType>(item: Item) {
  return shaped(z.array(item), { kind: "list", item });
}

/** An object with known members; others are dropped when it is decoded. */
export function struct<Members extends Record<string, z.ZodType>>(name: string, members: Members) {
  return shaped(z.object(members), { kind: "struct", name, members });
}

/** A member that may be absent or `null`, both meaning the same, and is left out when absent. */
export function optional<Inner extends z.ZodType>(inner: Inner) {
  return shaped(
    z.preprocess((value) => value ?? undefined, inner.optional()),
    { kind: "optional", inner },
  );
}

/** A member that may be absent or `null` and is written as `null` when absent. */
export function nullable<Inner extends z.ZodType>(inner: Inner) {
  return shaped(inner.nullable().default(null), { kind: "nullable", inner });
}

/** A member with a default: it may be absent but not `null`, and is always written. Takes `schema.default(…)`. */
export function defaulted<Inner extends z.ZodType>(schema: z.ZodDefault<Inner>) {
  const fallback = () => schema.def.defaultValue;
  return shaped(schema, { kind: "defaulted", inner: schema.unwrap(), fallback, omitEmpty: false });
}

/** A list that may be absent but not `null`, and is left out when empty. */
export function listOrNothing<Item extends z.ZodType>(item: Item) {
  const inner = list(item);
  return shaped(inner.default([]), { kind: "defaulted", inner, fallback: () => [], omitEmpty: true });
}

/** One of a fixed set of words. */
export function choice<const Units extends readonly [string, ...string[]]>(name: string, units: Units) {
  return shaped(z.enum(units), { kind: "choice", name, units, open: undefined });
}

/** One of a fixed set of words, or an object with one member that holds a word of the sender's own. */
export function openChoice<
  const Units extends readonly [string, ...string[]],
  Own extends z.ZodObject<Record<string, z.ZodString>>,
>(name: string, units: Units, own: Own) {
  const open = Object.keys(own.shape)[0];
  return shaped(z.union([z.enum(units), own]), { kind: "choice", name, units, open });
}

/** Exactly one of several one-member objects; the member's name says which variant it holds. */
export function external<
  const Options extends readonly [
    z.ZodObject<Record<string, z.ZodType>>,
    ...z.ZodObject<Record<string, z.ZodType>>[],
  ],
>(name: string, options: Options) {
  const variants = Object.fromEntries(options.flatMap((option) => Object.entries(option.shape)));
  return shaped(z.union(options), { kind: "external", name, variants });
}

/** One answer of a decision: the tag `decision` and the members that go with it. */
export function answer<const Tag extends string, Members extends Record<string, z.ZodType>>(
  tag: Tag,
  members: Members,
) {
  return z.object({ decision: z.literal(tag), ...members });
}

type DecisionVariant = z.ZodObject<{ decision: z.ZodLiteral<string> } & Record<string, z.ZodType>>;

/** A decision: one of several answers, discriminated by the member `decision`. */
export function decision<const Variants extends readonly [DecisionVariant, ...DecisionVariant[]]>(
  name: string,
  answers: Variants,
) {
  const variants = Object.fromEntries(
    answers.map((option) => {
      const { decision: tag, ...members } = option.shape;
      return [tag.value, members];
    }),
  );
  return shaped(z.discriminatedUnion("decision", answers), {
    kind: "internal",
    name,
    tag: "decision",
    variants,
  });
}
