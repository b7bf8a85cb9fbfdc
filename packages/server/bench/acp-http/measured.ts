import type { Prompter } from "./prompter.ts";

/** How many updates a burst has. */
export const BURST = 5_000;

/** What was measured of one way to prompt. */
export class Measured {
  readonly way: Prompter;
  readonly #trips: number[] = [];
  readonly #rates: number[] = [];
  readonly #arrived: number[] = [];

  constructor(way: Prompter) {
    this.way = way;
  }

  /** Prompts once and waits for the answer. */
  async trip(): Promise<void> {
    const start = performance.now();
    await this.way.prompt("say hello");
    this.#trips.push(performance.now() - start);
  }

  /** Prompts for a burst, and waits for the last update that arrives. */
  async burst(): Promise<void> {
    const before = this.way.updates();
    const start = performance.now();
    let last = start;
    const arrived = this.way.arrived(before + BURST).then(() => {
      last = performance.now();
    });
    await Promise.all([this.way.prompt(`burst ${BURST}`), arrived]);
    const count = this.way.updates() - before;
    this.#arrived.push(count);
    // A burst of which some was lost has no end to measure to.
    if (count >= BURST) this.#rates.push(BURST / ((last - start) / 1_000));
  }

  /** The milliseconds that a share of the prompts took at most. */
  tripAt(share: number): number {
    return quantile(this.#trips, share);
  }

  /** Updates a second. */
  get rate(): number {
    return quantile(this.#rates, 0.5);
  }

  /** The fewest updates of a burst that arrived. */
  get fewest(): number {
    return Math.min(...this.#arrived);
  }
}

/** The value that a share of some values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
