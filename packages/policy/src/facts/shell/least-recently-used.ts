/** A memory of bounded size that forgets what was not asked for the longest. */
export class LeastRecentlyUsed<Key, Value> {
  readonly #limits: { readonly entries: number; readonly size: number };
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>();
  #size = 0;

  constructor(limits: { readonly entries: number; readonly size: number }) {
    this.#limits = limits;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: Key, value: Value, size: number): void {
    this.#forget(key);
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.entries && this.#size <= this.#limits.size) break;
      this.#forget(oldest);
    }
  }

  #forget(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#size -= entry.size;
    this.#entries.delete(key);
  }
}
