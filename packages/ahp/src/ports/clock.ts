/** Time as this package sees it; a test brings its own. */
export interface Clock {
  now(): Date;
  /** Runs once after a while; the returned function calls it off. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The longest wait that the machine's timers know; they end a longer one at once. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, LONGEST_WAIT));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
