import type { Clock } from "../ports/clock.ts";

/** A clock that only moves when told. */
export class ManualClock implements Clock {
  #now = Date.parse("2026-01-01T00:00:00Z");
  readonly #timers = new Set<{ at: number; run: () => void }>();

  now(): Date {
    return new Date(this.#now);
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are set. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves on, runs what is due, and lets promises settle. */
  async advance(milliseconds: number): Promise<void> {
    this.#now += milliseconds;
    for (const timer of [...this.#timers].sort((left, right) => left.at - right.at)) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue;
      timer.run();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
