/** Has one thing at a time done for each key. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does something when everything before it for the same key is done. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const running = before.then(work, work);
    this.#last.set(key, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key);
    }
  }
}
