const MOST = 20_000;

/**
 * The last place of each name in the log that was written to lately. Names come and go with connections; of those that
 * were written to longest ago nothing is kept.
 */
export class LastPlaces {
  readonly #most: number;
  readonly #places = new Map<string, number>();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** The last place of a name; 0 where none is known. */
  of(name: string): number {
    return this.#places.get(name) ?? 0;
  }

  /** Notes the last place of a name. */
  note(name: string, place: number): void {
    // The one that was written to last is the last to go.
    this.#places.delete(name);
    this.#places.set(name, place);
    if (this.#places.size <= this.#most) return;
    const [oldest] = this.#places.keys();
    if (oldest !== undefined) this.#places.delete(oldest);
  }
}
