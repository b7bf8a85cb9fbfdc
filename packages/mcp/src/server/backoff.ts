import { type Clock, exponentialBackoff } from "@reins/kit";
import type { McpLimits } from "../limits.ts";

/** How long a server that keeps ending has to wait before it is started again. */
export class Backoff {
  readonly #limits: McpLimits;
  readonly #clock: Clock;
  #failures = 0;
  #startedAt = 0;
  #notBefore = 0;

  constructor(limits: McpLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Milliseconds until it may be started. */
  get wait(): number {
    return this.#notBefore - this.#now();
  }

  /** It has been started. */
  started(): void {
    this.#startedAt = this.#now();
  }

  /** It ended, or could not be started. */
  failed(): void {
    const { firstBackoffMs, mostBackoffMs } = this.#limits;
    if (this.#startedAt > 0 && this.#now() - this.#startedAt >= mostBackoffMs) this.#failures = 0;
    this.#notBefore =
      this.#now() +
      exponentialBackoff({ firstMs: firstBackoffMs, mostMs: mostBackoffMs }, this.#failures + 1);
    this.#failures += 1;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}
