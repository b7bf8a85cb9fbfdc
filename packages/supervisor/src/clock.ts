/** Time as the supervisor sees it; a test brings its own. */
export interface Clock {
  now(): Date;
  /** Runs once after a while; the returned function calls it off. Does not keep the process alive. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
