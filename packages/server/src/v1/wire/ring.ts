/** Something that is kept at a place. */
interface Placed {
  readonly seq: number;
}

const NONE: readonly never[] = [];

/** The newest of something, so many of them; each has a number that grows. */
export class Ring<Item extends Placed> {
  readonly #most: number;
  #items: Item[] = [];
  #dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds one; of too many the oldest are forgotten, some at a time. Gives those. */
  push(item: Item): readonly Item[] {
    this.#items.push(item);
    // Some at once, because to move all for each would cost more than all else.
    return this.#items.length > this.#most * 1.25 ? this.drop(this.#items.length - this.#most) : NONE;
  }

  /** Forgets the oldest, and gives them. */
  drop(count: number): readonly Item[] {
    this.#dropped += count;
    return this.#items.splice(0, count);
  }

  /** How many were forgotten. */
  get dropped(): number {
    return this.#dropped;
  }

  /** All that are kept, the oldest first. */
  get items(): readonly Item[] {
    return this.#items;
  }
}
