import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, MAX_TIMER_MS } from "./clock.ts";

/** Whether a promise resolves within a time. Rejects if the promise does. */
export async function settlesWithin(settling: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const timer = new AbortController();
  const { signal } = timer;
  const late = sleep(Math.min(milliseconds, MAX_TIMER_MS), false, { signal }).catch(() => false);
  try {
    return await Promise.race([settling.then(() => true), late]);
  } finally {
    timer.abort();
  }
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
