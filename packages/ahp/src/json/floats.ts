import { JsonError } from "./json-error.ts";

/**
 * Remembers which numbers of a parsed text AHP peers read as floating point. `JSON.parse` turns `1.0`, `1e3`
 * and `-0` into numbers that look like integers, and an integer field must refuse them. What has a fraction shows it.
 */
export class Floats {
  readonly #keys = new WeakMap<object, Set<string | number>>();

  /** Marks the member `key` of `holder` if its spelling is that of a float with a whole value. */
  note(holder: object, key: string | number, source: string): void {
    const value = Number(source);
    if (!Number.isFinite(value)) throw new JsonError("number_out_of_range", "number out of range");
    if (!Number.isInteger(value) || !isFloat(source)) return;
    const keys = this.#keys.get(holder);
    if (keys) keys.add(key);
    else this.#keys.set(holder, new Set([key]));
  }

  /** Forgets a member that is named again. */
  unmark(holder: object, key: string): void {
    this.#keys.get(holder)?.delete(key);
  }

  /** Whether that member was spelled as a floating-point number with a whole value; array elements by their index. */
  has(holder: object, key: string): boolean {
    return this.#keys.get(holder)?.has(Array.isArray(holder) ? Number(key) : key) ?? false;
  }
}

const LEAST_I64 = -(2n ** 63n);
const GREATEST_U64 = 2n ** 64n - 1n;
/** No 64-bit integer has more characters, and reading a longer one as a bigint would take more than linear time. */
const LONGEST_I64 = 20;

function isFloat(source: string): boolean {
  if (source === "-0" || /[.eE]/.test(source)) return true;
  if (source.length < 19) return false;
  if (source.length > LONGEST_I64) return true;
  const integer = BigInt(source);
  return integer < LEAST_I64 || integer > GREATEST_U64;
}
