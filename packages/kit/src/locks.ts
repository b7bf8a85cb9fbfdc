import { raceAbort } from "./async.ts";

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

  /** Waits for its turn; the result releases the next caller and must be called. Rejects when the signal aborts first. */
  async acquire(key: string, signal: AbortSignal): Promise<() => void> {
    const started = Promise.withResolvers<void>();
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    void this.run(key, () => {
      started.resolve();
      return done;
    });
    try {
      await raceAbort(started.promise, signal);
      return release;
    } catch (error) {
      release();
      throw error;
    }
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

/** An event that resets itself: wakes one waiter, and stays set until then. Setting it twice is setting it once. */
export class AutoResetEvent {
  #isSet = false;
  #wake: () => void = () => {};

  set(): void {
    this.#isSet = true;
    this.#wake();
  }

  /** Resolves when it is set, and resets it. */
  async wait(): Promise<void> {
    if (!this.#isSet)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#isSet = false;
  }
}

interface Flight<Progress> {
  readonly listeners: Set<(progress: Progress) => void>;
  last: Progress | undefined;
  readonly ended: Promise<void>;
}

/** Runs a job once per key however many callers want it; each caller receives its progress. */
export class SingleFlight<Progress> {
  readonly #flights = new Map<string, Flight<Progress>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /**
   * Joins the job that runs under a key, or starts it; resolves when it has ended, and never rejects. The job continues
   * when its callers are gone.
   */
  async join(
    key: string,
    job: (report: (progress: Progress) => void) => Promise<void>,
    listener: (progress: Progress) => void,
  ): Promise<void> {
    const flight = this.#flights.get(key) ?? this.#start(key, job);
    if (flight.last !== undefined) listener(flight.last);
    flight.listeners.add(listener);
    await flight.ended;
    flight.listeners.delete(listener);
  }

  #start(key: string, job: (report: (progress: Progress) => void) => Promise<void>): Flight<Progress> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const flight: Flight<Progress> = { listeners: new Set(), last: undefined, ended };
    this.#flights.set(key, flight);
    const report = (progress: Progress) => {
      flight.last = progress;
      for (const listener of flight.listeners) listener(progress);
    };
    void job(report).finally(() => {
      this.#flights.delete(key);
      resolve();
    });
    return flight;
  }
}
