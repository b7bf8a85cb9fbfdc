/** Who waits for a model whose limit was hit: one request at a time, in the order they came. */
export class ModelQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Waits for one's turn; what it gives back lets the next one in, and is to be called in any case. */
  async enter(model: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#last.get(model) ?? Promise.resolve();
    const { promise: done, resolve: leave } = Promise.withResolvers<void>();
    const mine = before.then(() => done);
    this.#last.set(model, mine);
    void mine.then(() => {
      if (this.#last.get(model) === mine) this.#last.delete(model);
    });
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([before, aborted.promise]);
      return leave;
    } catch (error) {
      leave();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
