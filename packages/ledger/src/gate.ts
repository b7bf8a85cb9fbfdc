/** Lets many pass at once, and one alone when nobody is inside. */
export class Gate {
  readonly #inside = new Set<Promise<unknown>>();
  #closed: Promise<unknown> | undefined;

  /** Runs beside others, after whoever is alone inside. */
  pass<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#closed) return this.#closed.then(() => this.pass(run));
    const running = run().then(
      (result) => {
        this.#inside.delete(running);
        return result;
      },
      (error: unknown) => {
        this.#inside.delete(running);
        throw error;
      },
    );
    this.#inside.add(running);
    return running;
  }

  /** Settles when everybody who is inside now has left. */
  async left(): Promise<void> {
    if (this.#inside.size > 0) await Promise.allSettled(this.#inside);
  }

  /** Runs alone: waits for those inside, and keeps others out meanwhile. */
  async alone<Result>(run: () => Promise<Result>): Promise<Result> {
    while (this.#closed) await this.#closed;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    try {
      await this.left();
      return await run();
    } finally {
      this.#closed = undefined;
      resolve();
    }
  }
}
