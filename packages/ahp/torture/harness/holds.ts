/** Events that wait until they are released. */
export class Holds {
  #waiting: (() => void)[] = [];

  /** How many wait. */
  get size(): number {
    return this.#waiting.length;
  }

  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  /** Lets all go that wait now. */
  release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }
}
