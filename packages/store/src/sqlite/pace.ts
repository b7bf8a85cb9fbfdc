/** Does at most one piece of work in each turn of the event loop, in order; the first at once. */
export class Pace {
  readonly #left: (() => void)[] = [];
  #resting = false;

  add(work: () => void): void {
    if (this.#resting) this.#left.push(work);
    else this.#do(work);
  }

  #do(work: () => void): void {
    this.#resting = true;
    setImmediate(() => {
      this.#resting = false;
      const next = this.#left.shift();
      if (next) this.#do(next);
    });
    work();
  }
}
