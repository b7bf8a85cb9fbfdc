import { exponentialBackoff } from "@reins/kit";

/** When a crashed program is restarted. Times are in milliseconds. */
export interface RestartPolicy {
  /** The wait after the first crash; each further one doubles it. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** Crashes longer ago than this are forgotten. */
  readonly memoryMs: number;
  /** After so many remembered crashes it is not restarted until the oldest is forgotten. */
  readonly limit: number;
}

/** When a program may be started again. */
export interface Restart {
  /** Not before this time; in the past if it may at once. */
  readonly at: number;
  /** Whether the limit has been reached: a person should look. */
  readonly givenUp: boolean;
}

const USUAL: RestartPolicy = { firstMs: 500, mostMs: 60_000, memoryMs: 600_000, limit: 8 };

/** Computes when a crashed program may be restarted. Pure: times are passed in. */
export class Restarts {
  readonly #policy: RestartPolicy;

  constructor(policy: Partial<RestartPolicy> = {}) {
    this.#policy = { ...USUAL, ...policy };
  }

  /** Adds a crash and drops those that are too old; newest last. */
  remember(crashes: readonly number[], crashed: number): number[] {
    const { memoryMs, limit } = this.#policy;
    return [...crashes, crashed].filter((at) => crashed - at < memoryMs).slice(-limit);
  }

  /** When to start again after these crashes, the newest last. */
  next(crashes: readonly number[]): Restart {
    const { memoryMs, limit } = this.#policy;
    const newest = crashes.at(-1);
    if (newest === undefined) return { at: Number.NEGATIVE_INFINITY, givenUp: false };
    const recent = crashes.filter((at) => newest - at < memoryMs);
    const [oldest = newest] = recent.slice(-limit);
    if (recent.length >= limit) return { at: oldest + memoryMs, givenUp: true };
    return { at: newest + exponentialBackoff(this.#policy, recent.length), givenUp: false };
  }
}
