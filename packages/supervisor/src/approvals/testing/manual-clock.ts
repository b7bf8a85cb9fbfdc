import type { Clock } from "../../clock.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that stands until it is moved. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now = Date.parse("2026-11-15T09:00:00.000Z");

  now(): Date {
    return new Date(this.#now);
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves on, running what falls due on the way. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((left, right) => left.at - right.at);
      const [next] = due;
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
  }

  /** Sets the clock without running anything, as a machine's is set. */
  set(to: Date): void {
    this.#now = to.getTime();
  }
}
