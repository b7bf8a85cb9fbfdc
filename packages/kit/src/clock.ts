/** Time. Production code gets the {@link systemClock}; tests pass a manual one. */
export interface Clock {
  now(): Date;
  /** Runs a callback once; returns a function that cancels it. Does not keep the process alive. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The longest delay that timers support: a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. Delays beyond {@link MAX_TIMER_MS} are shortened to it. */
export const systemClock: Clock = {
  now: () => new Date(),
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, MAX_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
