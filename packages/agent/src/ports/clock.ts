import { setTimeout } from "node:timers/promises";

/** Time, as far as the agent needs it. */
export interface Clock {
  now(): Date;
  /** Waits; rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** A timer that is to take longer goes off at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The time of the machine. */
export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await setTimeout(Math.min(milliseconds, LONGEST_MS), undefined, { signal });
  },
};
