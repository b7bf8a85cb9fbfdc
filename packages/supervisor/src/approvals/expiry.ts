import type { Clock } from "@reins/kit";

/** The longest wait at a time: clocks are set, and timers hold no more than some weeks. */
const LONGEST_MS = 60_000;

/** Sweeps when the time of the next approval is over. */
export class Expiry {
  readonly #clock: Clock;
  readonly #sweep: () => Promise<unknown>;
  readonly #onError: (error: unknown) => void;
  #next: number | undefined;
  #cancel: (() => void) | undefined;
  #sweeping: Promise<unknown> | undefined;
  #closed = false;

  constructor(clock: Clock, sweep: () => Promise<unknown>, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#sweep = sweep;
    this.#onError = onError;
  }

  /** There is an approval that ends then. */
  arm(expires_at: string): void {
    const end = Date.parse(expires_at);
    if (this.#closed || (this.#next !== undefined && this.#next <= end)) return;
    this.#cancel?.();
    this.#next = end;
    const wait = Math.min(Math.max(end - this.#clock.now().getTime(), 0), LONGEST_MS);
    this.#cancel = this.#clock.after(wait, () => this.#wake(end));
  }

  /** Ends the waiting; settles when a sweep under way is done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  #wake(end: number): void {
    this.#next = undefined;
    this.#cancel = undefined;
    if (this.#clock.now().getTime() < end) this.arm(new Date(end).toISOString());
    else this.#sweeping = this.#sweepOrLater();
  }

  /** What could not be swept is over all the same: every read and every use looks at the time itself. */
  async #sweepOrLater(): Promise<void> {
    try {
      await this.#sweep();
    } catch (error) {
      this.arm(new Date(this.#clock.now().getTime() + LONGEST_MS).toISOString());
      this.#onError(error);
    }
  }
}
