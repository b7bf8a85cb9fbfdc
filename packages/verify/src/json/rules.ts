import { isHex } from "../bytes/hex.ts";
import type { Rule } from "./shape.ts";
import { isObject, type JsonValue } from "./value.ts";

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
