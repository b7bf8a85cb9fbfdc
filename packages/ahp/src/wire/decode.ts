import type { Floats } from "@reins/kit";
import type { z } from "zod";
import { compareUtf8 } from "../json/stringify.ts";
import { INTEGERS, type IntegerName, shapeOf } from "./schema.ts";

/** A value that does not have its type. `message` is the text that AHP peers give for it. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** Where in the value: member names and array indexes, outermost first. */
  readonly path: (string | number)[] = [];
}

/** How peers name a value that they did not expect. */
function describe(given: unknown, isFloat = false): string {
  const value = JSON.isRawJSON(given) ? Number(given.rawJSON) : given;
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "sequence";
  switch (typeof value) {
    case "boolean":
      return `boolean \`${value}\``;
    case "number":
      return isFloat || !Number.isInteger(value)
        ? `floating point \`${spellFloat(value)}\``
        : `integer \`${BigInt(value)}\``;
    case "string":
      return `string ${JSON.stringify(value)}`;
    default:
      return "map";
  }
}

/** `invalid type: …, expected …` */
function invalidType(value: unknown, expected: string, isFloat = false): DecodeError {
  return new DecodeError(`invalid type: ${describe(value, isFloat)}, expected ${expected}`);
}

/** `` missing field `name` `` */
function missingField(name: string): DecodeError {
  return new DecodeError(`missing field \`${name}\``);
}

/** `` unknown variant `x`, expected one of … `` */
function unknownVariant(variant: string, known: readonly string[]): DecodeError {
  const quoted = known.map((name) => `\`${name}\``);
  const expected = quoted.length === 2 ? quoted.join(" or ") : `one of ${quoted.join(", ")}`;
  return new DecodeError(`unknown variant \`${variant}\`, expected ${expected}`);
}

/** `invalid length …, expected … with … elements` */
function invalidLength(length: number, expected: string): DecodeError {
  return new DecodeError(`invalid length ${length}, expected ${expected}`);
}

function spellFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) ? `${BigInt(value)}.0` : String(value);
}

/**
 * Reads a parsed JSON value as a type of the protocol. Unknown members are dropped, defaults filled in, `null`
 * for an optional member means absent. Throws {@link DecodeError} with the text that AHP peers give.
 */
export function decode<Output>(schema: z.ZodType<Output>, value: unknown, floats?: Floats): Output {
  const holder = { value };
  // The decoder is derived from the schema, so its result is the schema's output.
  return decoderOf(schema)(value, holder, "value", floats) as Output;
}

/**
 * Checks a value and returns its normal form: unknown members dropped, defaults filled in. `holder` and `key`
 * are the position of the value, by which `floats` knows how a number was spelled. Throws {@link DecodeError}.
 */
type Decoder = (value: unknown, holder: object, key: string, floats: Floats | undefined) => unknown;

const decoders = new WeakMap<z.ZodType, Decoder>();

/** The decoder of a schema, made once. */
function decoderOf(schema: z.ZodType): Decoder {
  const known = decoders.get(schema);
  if (known) return known;
  const made = makeDecoder(schema);
  decoders.set(schema, made);
  return made;
}

function makeDecoder(schema: z.ZodType): Decoder {
  const shape = shapeOf(schema);
  switch (shape.kind) {
    case "text":
      return decodeText;
    case "boolean":
      return decodeBoolean;
    case "any":
      return (value) => value;
    case "map":
      return decodeMap;
    case "integer":
      return integerDecoder(shape.integer);
    case "f32":
      return decodeF32;
    case "list":
      return listDecoder(decoderOf(shape.item));
    case "struct":
      return structDecoder(`struct ${shape.name}`, fieldsOf(shape.members));
    case "optional":
    case "nullable":
    case "defaulted":
      return decoderOf(shape.inner);
    case "choice":
      return choiceDecoder(shape.units, shape.open);
    case "external":
      return externalDecoder(shape.variants);
    case "internal":
      return internalDecoder(shape.name, shape.tag, shape.variants);
  }
}

const decodeText: Decoder = (value, holder, key, floats) => {
  if (typeof value === "string") return value;
  throw invalidType(value, "a string", floats?.has(holder, key));
};

const decodeBoolean: Decoder = (value, holder, key, floats) => {
  if (typeof value === "boolean") return value;
  throw invalidType(value, "a boolean", floats?.has(holder, key));
};

const decodeMap: Decoder = (value, holder, key, floats) => {
  if (isObject(value)) return value;
  throw invalidType(value, "a map", floats?.has(holder, key));
};

const decodeF32: Decoder = (value) => {
  if (typeof value === "number") return Math.fround(value);
  if (JSON.isRawJSON(value)) return Math.fround(Number(value.rawJSON));
  throw invalidType(value, "f32");
};

function integerDecoder(name: IntegerName): Decoder {
  const { least, greatest } = INTEGERS[name];
  return (given, holder, key, floats) => {
    const isFloat = floats?.has(holder, key);
    // A field of the protocol counts or measures; its nearest number is near enough.
    const value = JSON.isRawJSON(given) ? Number(given.rawJSON) : given;
    if (typeof value !== "number" || !Number.isInteger(value) || isFloat)
      throw invalidType(value, name, isFloat);
    if (value >= least && value <= greatest) return value;
    throw new DecodeError(
      `invalid value: integer \`${JSON.isRawJSON(given) ? given.rawJSON : BigInt(value)}\`, expected ${name}`,
    );
  };
}

function listDecoder(item: Decoder): Decoder {
  return (value, holder, key, floats) => {
    if (!Array.isArray(value)) throw invalidType(value, "a sequence", floats?.has(holder, key));
    return value.map((member: unknown, index) => {
      try {
        return item(member, value, String(index), floats);
      } catch (error) {
        if (error instanceof DecodeError) error.path.unshift(index);
        throw error;
      }
    });
  };
}

function structDecoder(expected: string, fields: Fields): Decoder {
  return (value, holder, key, floats) => {
    if (isObject(value)) return readFields(value, fields, floats, {});
    if (Array.isArray(value)) return readPositions(value, fields, floats, expected, {});
    throw invalidType(value, expected, floats?.has(holder, key));
  };
}

function choiceDecoder(units: readonly string[], open: string | undefined): Decoder {
  // Gives back the word of the schema, not the one of the message: a table looks a literal up much faster.
  const known = new Map(units.map((unit) => [unit, unit]));
  const names = open === undefined ? units : [...units, open];
  return (value, holder, key, floats) => {
    if (typeof value === "string") {
      const unit = known.get(value);
      if (unit !== undefined) return unit;
      if (value === open) throw new DecodeError("invalid type: unit variant, expected newtype variant");
      throw unknownVariant(value, names);
    }
    const object = oneMember(value, floats?.has(holder, key));
    const [variant, held] = object.member;
    if (variant === open)
      return { [variant]: inside(variant, () => decodeText(held, object.holder, variant, floats)) };
    if (!known.has(variant)) throw unknownVariant(variant, names);
    if (held !== null) throw invalidType(held, "unit");
    return variant;
  };
}

function externalDecoder(variants: Readonly<Record<string, z.ZodType>>): Decoder {
  const names = Object.keys(variants);
  const decodeVariant = new Map(
    Object.entries(variants).map(([variant, schema]) => {
      const shape = shapeOf(schema);
      if (shape.kind !== "struct") throw new TypeError(`the variant ${variant} is not a struct`);
      return [variant, structDecoder("struct variant", fieldsOf(shape.members))];
    }),
  );
  return (value, holder, key, floats) => {
    if (typeof value === "string") {
      if (!decodeVariant.has(value)) throw unknownVariant(value, names);
      throw new DecodeError("invalid type: unit variant, expected struct variant");
    }
    const object = oneMember(value, floats?.has(holder, key));
    const [variant, held] = object.member;
    const decode = decodeVariant.get(variant);
    if (!decode) throw unknownVariant(variant, names);
    return { [variant]: inside(variant, () => decode(held, object.holder, variant, floats)) };
  };
}

function internalDecoder(
  name: string,
  tag: string,
  variants: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>>,
): Decoder {
  const names = Object.keys(variants);
  const variantFields = new Map(
    Object.entries(variants).map(([variant, members]) => [variant, fieldsOf(members)]),
  );
  const fieldsFor = (variant: unknown): { variant: string; fields: Fields } => {
    if (typeof variant !== "string") throw invalidType(variant, "variant identifier");
    const fields = variantFields.get(variant);
    if (!fields) throw unknownVariant(variant, names);
    return { variant, fields };
  };
  return (value, holder, key, floats) => {
    if (Array.isArray(value)) {
      const { variant, fields } = fieldsFor(value[0]);
      const expected = `struct variant ${name}::${variant.charAt(0).toUpperCase()}${variant.slice(1)}`;
      return readPositions(value.slice(1), fields, undefined, expected, { [tag]: variant });
    }
    if (!isObject(value))
      throw invalidType(value, `internally tagged enum ${name}`, floats?.has(holder, key));
    if (value[tag] === undefined) throw missingField(tag);
    const { variant, fields } = fieldsFor(value[tag]);
    return readFields(value, fields, floats, { [tag]: variant });
  };
}

/** Adds the name of the variant to the path of an error inside it. */
function inside<Result>(variant: string, decode: () => Result): Result {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) error.path.unshift(variant);
    throw error;
  }
}

/** The one member of a one-member object, which is how peers write a variant that holds something. */
function oneMember(
  value: unknown,
  isFloat: boolean | undefined,
): { holder: object; member: [string, unknown] } {
  if (!isObject(value)) throw invalidType(value, "string or map", isFloat);
  const [member, ...more] = Object.entries(value);
  if (!member || more.length > 0) throw new DecodeError("invalid value: map, expected map with a single key");
  return { holder: value, member };
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** How an absent member is read. */
type Absence = "missing" | "omitted" | "null" | "default";

/** One member of an object type, ready to be read. */
interface Field {
  readonly key: string;
  readonly decode: Decoder;
  readonly absence: Absence;
  readonly fallback: () => unknown;
}

/** The members of an object type in their declared order. */
type Fields = readonly Field[];

/** Prepares the members of an object type. */
function fieldsOf(members: Readonly<Record<string, z.ZodType>>): Fields {
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
function readFields(value: Members, fields: Fields, floats: Floats | undefined, into: Members): Members {
  try {
    for (const field of fields) readField(value, field.key, field, floats, into);
    return into;
  } catch (error) {
    throw error instanceof DecodeError ? firstFault(value, fields, floats, error) : error;
  }
}

/** Reads an array in place of an object, with the members in their declared order. */
function readPositions(
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
