import type { Clock } from "@reins/kit";

/** What a deadline for silence needs. */
export interface InactivityOptions {
  readonly clock: Clock;
  readonly milliseconds: number;
  /** Called once, when nothing was heard for so long. */
  readonly onSilent: () => void;
}

/** A deadline that every sign of life puts off. */
export class Inactivity {
  readonly #options: InactivityOptions;
  #heard: number;
  #callOff: () => void;

  constructor(options: InactivityOptions) {
    this.#options = options;
    this.#heard = this.#now();
    this.#callOff = this.#wait(options.milliseconds);
  }

  /** Something was heard. Costs next to nothing: the timer is not touched. */
  heard(): void {
    this.#heard = this.#now();
  }

  /** Nothing is expected any more. */
  end(): void {
    this.#callOff();
  }

  #wait(milliseconds: number): () => void {
    return this.#options.clock.after(milliseconds, () => {
      const left = this.#heard + this.#options.milliseconds - this.#now();
      if (left <= 0) this.#options.onSilent();
      else this.#callOff = this.#wait(left);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** How patient we are with a program that crashes. Times are in milliseconds. */
export interface RestartPolicy {
  /** The wait after the first crash; each further one doubles it. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Crashes longer ago than this are forgotten. */
  readonly memoryMs: number;
  /** After so many crashes within memory it is given up, until the oldest of them is forgotten. */
  readonly limit: number;
}

/** When a program may be started again. */
export interface Restart {
  /** Not before this time; in the past if it may at once. */
  readonly at: number;
  /** Whether the limit has been reached: a person should look. */
  readonly givenUp: boolean;
}

const USUAL: RestartPolicy = { firstMs: 500, longestMs: 60_000, memoryMs: 600_000, limit: 8 };

/** Says when a program that crashed may be started again. Holds no clock and no state: the times come from outside. */
export class Restarts {
  readonly #policy: RestartPolicy;

  constructor(policy: Partial<RestartPolicy> = {}) {
    this.#policy = { ...USUAL, ...policy };
  }

  /** The crashes worth remembering, the newest last, once another has happened. */
  remember(crashes: readonly number[], crashed: number): number[] {
    const { memoryMs, limit } = this.#policy;
    return [...crashes, crashed].filter((at) => crashed - at < memoryMs).slice(-limit);
  }

  /** When to start again after these crashes, the newest last. */
  next(crashes: readonly number[]): Restart {
    const { firstMs, longestMs, memoryMs, limit } = this.#policy;
    const newest = crashes.at(-1);
    if (newest === undefined) return { at: Number.NEGATIVE_INFINITY, givenUp: false };
    const recent = crashes.filter((at) => newest - at < memoryMs);
    const [oldest = newest] = recent.slice(-limit);
    if (recent.length >= limit) return { at: oldest + memoryMs, givenUp: true };
    return { at: newest + Math.min(longestMs, firstMs * 2 ** (recent.length - 1)), givenUp: false };
  }
}
