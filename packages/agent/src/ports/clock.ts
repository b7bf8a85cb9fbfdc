import { setTimeout } from "node:timers/promises";

/** Time, as far as the agent needs it. */
export interface Clock {
  now(): Date;
  /** Waits; rejects when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** The time of the machine. */
export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await setTimeout(milliseconds, undefined, { signal });
  },
};
