import { MAX_NESTING } from "@reins/kit";

/**
 * Compact JSON with object keys in the order of their UTF-8 bytes, at every level: the form in which AHP peers
 * write everything inside `params`, `result` and `error.data`. Members that are `undefined` are left out; lone
 * surrogates become U+FFFD, because peers cannot read them. Throws a `TypeError` for what JSON cannot hold
 * (functions, symbols, bigints, cycles), and for more nesting than peers read; `around` is how many containers
 * the text will stand in.
 */
export function stringifySorted(value: unknown, around = 0): string {
  return write(value, around);
}

/** The ends of 64-bit integers: JavaScript's shortest spelling of them is out of the range that peers hold. */
const EDGES: ReadonlyMap<number, string> = new Map([
  [2 ** 64, "18446744073709551615"],
  [2 ** 63, "9223372036854775807"],
  [-(2 ** 63), "-9223372036854775808"],
]);

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return Number.isFinite(value) ? (EDGES.get(value) ?? String(value)) : "null";
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : writeContainer(value, depth + 1);
    case "undefined":
      return "null";
    default:
      throw new TypeError(`a ${typeof value} has no JSON form`);
  }
}

function writeContainer(value: object, depth: number): string {
  if (JSON.isRawJSON(value)) return value.rawJSON;
  if (depth > MAX_NESTING) throw new TypeError(`nested deeper than ${MAX_NESTING} arrays and objects`);
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(), depth);
  if (Array.isArray(value)) {
    let text = "[";
    for (let index = 0; index < value.length; index += 1) {
      text += index === 0 ? write(value[index], depth) : `,${write(value[index], depth)}`;
    }
    return `${text}]`;
  }
  let text = "";
  for (const key of sortedKeys(value)) {
    const member: unknown = Reflect.get(value, key);
    if (member === undefined) continue;
    text += `${text === "" ? "{" : ","}${quote(key)}:${write(member, depth)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  if (keys.length < 2) return keys;
  return keys.some((key) => SURROGATE.test(key)) ? keys.sort(compareUtf8) : keys.sort();
}

/** UTF-16 order is UTF-8 order, except where surrogates meet the characters above them. */
const SURROGATE = /[\ud800-\udfff]/;

/** Compares two strings by their UTF-8 bytes. */
export function compareUtf8(left: string, right: string): number {
  if (SURROGATE.test(left) || SURROGATE.test(right))
    return Buffer.compare(Buffer.from(left), Buffer.from(right));
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Strings that need no escape, as nearly all keys and most values; a long one is quoted faster by `JSON.stringify`. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]{0,64}$/;

function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  return JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());
}
