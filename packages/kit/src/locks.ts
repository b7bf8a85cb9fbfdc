/** Runs jobs with the same key one after another, in the order of the calls; jobs with different keys run in parallel. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<Result>(key: string, job: () => Promise<Result>): Promise<Result> {
    const running = (this.#last.get(key) ?? Promise.resolve()).then(job, job);
    this.#last.set(key, running);
    const forget = () => {
      if (this.#last.get(key) === running) this.#last.delete(key);
    };
    running.then(forget, forget);
    return running;
  }
}

/** A read-write lock: many jobs share it, or one has it exclusively. An exclusive job waits for those that run. */
export class SharedLock {
  readonly #sharing = new Set<Promise<unknown>>();
  #exclusive: Promise<unknown> | undefined;

  /** Runs a job beside others, after an exclusive one. */
  shared<Result>(job: () => Promise<Result>): Promise<Result> {
    if (this.#exclusive) return this.#exclusive.then(() => this.shared(job));
    const running = job().finally(() => this.#sharing.delete(running));
    this.#sharing.add(running);
    return running;
  }

  /** Resolves when the jobs that share the lock now have settled. */
  async idle(): Promise<void> {
    if (this.#sharing.size > 0) await Promise.allSettled(this.#sharing);
  }

  /** Runs a job alone. */
  async exclusive<Result>(job: () => Promise<Result>): Promise<Result> {
    while (this.#exclusive) await this.#exclusive;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exclusive = promise;
    try {
      await this.idle();
      return await job();
    } finally {
      this.#exclusive = undefined;
      resolve();
    }
  }
}
