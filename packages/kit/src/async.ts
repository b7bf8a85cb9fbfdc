import { type Clock, MAX_TIMER_MS } from "./clock.ts";

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

/** Runs a job again and again until stopped, never twice at once, with a pause after each. Errors do not end it. */
export class Repeater {
  readonly #clock: Pick<Clock, "after">;
  readonly #pauseMs: number;
  readonly #job: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(
    clock: Pick<Clock, "after">,
    pauseMs: number,
    job: () => Promise<void>,
    onError: (error: unknown) => void,
  ) {
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
