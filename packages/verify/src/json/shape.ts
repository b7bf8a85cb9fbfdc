import { isHex } from "../bytes.ts";
import { isObject, type JsonObject, type JsonValue } from "./parse.ts";

/** What a member must be. */
export interface Rule {
  /** In words, to follow "expected". */
  readonly expected: string;
  holds(value: JsonValue): boolean;
}

/** The members of an object: these and no others. */
export type Shape<Value extends JsonObject> = { readonly [Member in keyof Value]-?: Rule };

/** How an object differs from its shape. */
export interface Mismatch {
  readonly message: string;
  readonly expected: string;
  readonly found: string;
}

/** Whether a value has exactly the members of a shape, each as it must be. */
export function fits<Value extends JsonObject>(
  value: JsonValue | undefined,
  shape: Shape<Value>,
): value is Value {
  if (!isObject(value)) return false;
  let count = 0;
  for (const member in shape) {
    if (!Object.hasOwn(value, member) || !shape[member].holds(value[member] ?? null)) return false;
    count += 1;
  }
  for (const _ in value) count -= 1;
  return count === 0;
}

/** Everything that keeps a value from fitting a shape. */
export function mismatches<Value extends JsonObject>(
  value: JsonValue | undefined,
  shape: Shape<Value>,
): Mismatch[] {
  if (!isObject(value)) return [{ message: "is no object", expected: "an object", found: show(value) }];
  const found: Mismatch[] = [];
  for (const member in shape) {
    const { expected, holds } = shape[member];
    if (!Object.hasOwn(value, member)) {
      found.push({ message: `lacks the member ${member}`, expected, found: "nothing" });
    } else if (!holds(value[member] ?? null)) {
      found.push({ message: `has a wrong ${member}`, expected, found: show(value[member]) });
    }
  }
  for (const member of Object.keys(value)) {
    if (Object.hasOwn(shape, member)) continue;
    found.push({
      message: `has a member that does not belong: ${JSON.stringify(member)}`,
      expected: "nothing",
      found: show(value[member]),
    });
  }
  return found;
}

/** A value as text, to be shown. */
export function show(value: JsonValue | undefined): string {
  try {
    return value === undefined ? "nothing" : JSON.stringify(value);
  } catch {
    // JSON.stringify is recursive, and JSON.parse is not.
    return "something nested too deep to be shown";
  }
}

export const TEXT: Rule = { expected: "a string", holds: (value) => typeof value === "string" };

export const TEXTS: Rule = {
  expected: "an array of strings",
  holds: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
};

export const BOOLEANS: Rule = {
  expected: "an array of booleans",
  holds: (value) => Array.isArray(value) && value.every((one) => typeof one === "boolean"),
};

export const ANYTHING: Rule = { expected: "any JSON", holds: () => true };

export const OBJECT: Rule = { expected: "an object", holds: isObject };

export const OBJECT_OR_NULL: Rule = {
  expected: "null or an object",
  holds: (value) => value === null || isObject(value),
};

export const COUNT: Rule = { expected: "an integer from 0", holds: isCount };

/** A BLAKE3-256 digest. */
export const DIGEST: Rule = {
  expected: "64 lower-case hexadecimal digits",
  holds: (value) => isHex(value, 64),
};

export const DIGESTS: Rule = {
  expected: "an array of content ids",
  holds: (value) => Array.isArray(value) && value.every((one) => isHex(one, 64)),
};

/** The first digits of the digest of a public key. */
export const KEY_ID: Rule = {
  expected: "16 lower-case hexadecimal digits",
  holds: (value) => isHex(value, 16),
};

/** Exactly this value. */
export function literal(wanted: string | boolean): Rule {
  return { expected: JSON.stringify(wanted), holds: (value) => value === wanted };
}

function isCount(value: JsonValue): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
