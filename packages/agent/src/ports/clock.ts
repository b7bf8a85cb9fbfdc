import { setTimeout } from "node:timers/promises";

/** Time. */
export interface Clock {
  now(): Date;
  /** Rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** A timer with a longer delay would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await setTimeout(Math.min(milliseconds, LONGEST_MS), undefined, { signal });
  },
};
