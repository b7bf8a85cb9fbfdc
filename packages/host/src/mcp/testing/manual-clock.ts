import type { Clock } from "@reins/supervisor";

/** A clock that only moves when told. */
export class ManualClock implements Clock {
  #now = Date.parse("2026-01-01T00:00:00Z");
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

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

  /** Lets promises settle, moves on, runs what is due, and lets promises settle again. */
  async advance(milliseconds: number): Promise<void> {
    await settled();
    this.#now += milliseconds;
    const due = [...this.#timers]
      .filter(({ at }) => at <= this.#now)
      .sort((left, right) => left.at - right.at);
    for (const timer of due) if (this.#timers.delete(timer)) timer.run();
    await settled();
  }
}

/** Lets every promise settle that can. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
