/** A map that is copied at no cost: the entries are shared until one side changes them. */
export class CopiedMap<Value> implements Iterable<[string, Value]> {
  #entries: Map<string, Value>;
  #isShared = false;

  constructor(entries: Iterable<readonly [string, Value]> = []) {
    this.#entries = new Map(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): Value | undefined {
    return this.#entries.get(name);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  set(name: string, value: Value): void {
    this.#own().set(name, value);
  }

  delete(name: string): void {
    if (this.#entries.has(name)) this.#own().delete(name);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.#entries.entries();
  }

  copy(): CopiedMap<Value> {
    const copy = new CopiedMap<Value>();
    copy.#entries = this.#entries;
    copy.#isShared = true;
    this.#isShared = true;
    return copy;
  }

  /** Whether nothing was changed on either side since one was copied from the other. */
  isSame(other: CopiedMap<Value>): boolean {
    return this.#entries === other.#entries;
  }

  #own(): Map<string, Value> {
    if (this.#isShared) this.#entries = new Map(this.#entries);
    this.#isShared = false;
    return this.#entries;
  }
}
