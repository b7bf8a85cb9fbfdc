/** Lets many pass at once, and one alone when nobody is inside. */
export class Gate {
  readonly #inside = new Set<Promise<unknown>>();
  #closed: Promise<unknown> | undefined;

  /** Runs beside others, after whoever is alone inside. */
  async pass<Result>(run: () => Promise<Result>): Promise<Result> {
    while (this.#closed) await this.#closed;
    const running = run();
    const settled = running.catch(() => undefined);
    this.#inside.add(settled);
    void settled.then(() => this.#inside.delete(settled));
    return running;
  }

  /** Settles when everybody who is inside now has left. */
  async left(): Promise<void> {
    if (this.#inside.size > 0) await Promise.all(this.#inside);
  }

  /** Runs alone: waits for those inside, and keeps others out meanwhile. */
  async alone<Result>(run: () => Promise<Result>): Promise<Result> {
    while (this.#closed) await this.#closed;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    try {
      await Promise.all(this.#inside);
      return await run();
    } finally {
      this.#closed = undefined;
      resolve();
    }
  }
}
