import type { Floats } from "@reins/kit";
import type { z } from "zod";
import { DecodeError, invalidType, missingField, unknownVariant } from "./decode-error.ts";
import { type Fields, fieldsOf, readFields, readPositions } from "./fields.ts";
import { INTEGERS, type IntegerName, shapeOf } from "./schema.ts";

/**
 * Checks a value and returns its normal form: unknown members dropped, defaults filled in. `holder` and `key`
 * say where the value stands, so that `floats` can tell how a number was spelled. Throws {@link DecodeError}.
 */
export type Decoder = (value: unknown, holder: object, key: string, floats: Floats | undefined) => unknown;

const decoders = new WeakMap<z.ZodType, Decoder>();

/** The decoder of a schema, made once. */
export function decoderOf(schema: z.ZodType): Decoder {
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
      return structDecoder(`struct ${shape.name}`, fieldsOf(shape.members, decoderOf));
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
      return [variant, structDecoder("struct variant", fieldsOf(shape.members, decoderOf))];
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
    Object.entries(variants).map(([variant, members]) => [variant, fieldsOf(members, decoderOf)]),
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

/** Notes the name of the variant in the path of whatever is wrong inside it. */
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
