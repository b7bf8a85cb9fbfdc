/** Time. Production code gets the {@link systemClock}; tests pass a manual one. */
export interface Clock {
  now(): Date;
  /** Runs a callback once; returns a function that cancels it. Does not keep the process alive. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The longest delay that timers support: a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. Delays beyond {@link MAX_TIMER_MS} are shortened to it. */
export const systemClock: Clock = {
  now: () => new Date(),
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, MAX_TIMER_MS));
    unref(timer);
    return () => clearTimeout(timer);
  },
};

/** Has a timer not keep the process alive; those of browsers keep nothing alive. */
function unref(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

type Timer = Pick<Clock, "after">;

/** Keeps the process alive while it waits, unlike the system clock. */
const waitingTimer: Timer = {
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Whether a promise resolves within a time. Rejects if the promise does. */
export async function settlesWithin(
  settling: Promise<unknown>,
  milliseconds: number,
  clock: Timer = waitingTimer,
): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancel = clock.after(milliseconds, () => late.resolve(false));
  try {
    return await Promise.race([settling.then(() => true), late.promise]);
  } finally {
    cancel();
  }
}

/** Resolves after a time, or when the signal aborts. */
export async function sleep(milliseconds: number, clock: Timer, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const cancel = clock.after(milliseconds, wake);
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  signal.removeEventListener("abort", wake);
  cancel();
}

/** The result of a promise; rejects with the reason of the signal if that aborts first. */
export async function raceAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  // A promise that lost the race may still reject.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Options of an inactivity timer. */
export interface InactivityOptions {
  readonly clock: Clock;
  readonly milliseconds: number;
  /** Called once, after so long without activity. */
  readonly onTimeout: () => void;
}

/** A timeout that every activity postpones. */
export class Inactivity {
  readonly #options: InactivityOptions;
  #last: number;
  #cancel: () => void;

  constructor(options: InactivityOptions) {
    this.#options = options;
    this.#last = this.#now();
    this.#cancel = this.#wait(options.milliseconds);
  }

  /** Postpones the timeout. Cheap: the timer is not touched. */
  touch(): void {
    this.#last = this.#now();
  }

  /** Cancels the timeout. */
  end(): void {
    this.#cancel();
  }

  #wait(milliseconds: number): () => void {
    return this.#options.clock.after(milliseconds, () => {
      const left = this.#last + this.#options.milliseconds - this.#now();
      if (left <= 0) this.#options.onTimeout();
      else this.#cancel = this.#wait(left);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** Runs a job again and again until stopped, never twice at once, with a pause after each. Errors do not end it. */
export class Repeater {
  readonly #clock: Timer;
  readonly #pauseMs: number;
  readonly #job: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(clock: Timer, pauseMs: number, job: () => Promise<void>, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.#job = job;
    this.#onError = onError;
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(this.#pauseMs, () => {
      this.#job()
        .catch(this.#onError)
        .finally(() => this.#schedule());
    });
  }
}

/** Runs jobs one after another, in the order of the calls. A failed job does not stop the next. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(job: () => Promise<Result>): Promise<Result> {
    const running = this.#last.then(job);
    this.#last = running.catch(() => undefined);
    return running;
  }

  /** Resolves when all jobs so far have settled. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

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

  /** The keys of the jobs that run. */
  get keys(): readonly string[] {
    return [...this.#flights.keys()];
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
