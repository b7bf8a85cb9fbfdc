/**
 * Remembers which numbers of a parsed text AHP peers read as floating point. `JSON.parse` turns `1.0`, `1e3`
 * and `-0` into numbers that look like integers, and an integer field must refuse them.
 */
export class Floats {
  readonly #keys = new WeakMap<object, Set<string>>();

  /** Marks the member `key` of `holder`; array elements by their index as text. */
  mark(holder: object, key: string): void {
    const keys = this.#keys.get(holder);
    if (keys) keys.add(key);
    else this.#keys.set(holder, new Set([key]));
  }

  /** Whether that member was spelled as a floating-point number. */
  has(holder: object, key: string): boolean {
    return this.#keys.get(holder)?.has(key) ?? false;
  }
}
