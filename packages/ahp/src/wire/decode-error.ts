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
export function invalidType(value: unknown, expected: string, isFloat = false): DecodeError {
  return new DecodeError(`invalid type: ${describe(value, isFloat)}, expected ${expected}`);
}

/** `` missing field `name` `` */
export function missingField(name: string): DecodeError {
  return new DecodeError(`missing field \`${name}\``);
}

/** `` unknown variant `x`, expected one of … `` */
export function unknownVariant(variant: string, known: readonly string[]): DecodeError {
  const quoted = known.map((name) => `\`${name}\``);
  const expected = quoted.length === 2 ? quoted.join(" or ") : `one of ${quoted.join(", ")}`;
  return new DecodeError(`unknown variant \`${variant}\`, expected ${expected}`);
}

/** `invalid length …, expected … with … elements` */
export function invalidLength(length: number, expected: string): DecodeError {
  return new DecodeError(`invalid length ${length}, expected ${expected}`);
}

function spellFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) ? `${BigInt(value)}.0` : String(value);
}
