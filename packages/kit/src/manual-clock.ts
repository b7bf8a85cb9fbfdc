import type { Clock } from "./async.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock for tests: it does not move until it is advanced or set. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;

  constructor(start: Date | string = "2026-11-15T09:00:00.000Z") {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** The number of timers that have not fired. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves time forward and runs each timer at the moment it is due, including timers set on the way. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
      const [next] = due;
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
  }

  /** Like {@link advance}, and lets pending promises settle before and after. */
  async advanceAndSettle(milliseconds: number): Promise<void> {
    await settled();
    this.advance(milliseconds);
    await settled();
  }

  /** Sets the time without running timers, as an operator sets a machine's clock. */
  set(to: Date): void {
    this.#now = to.getTime();
  }
}

/** Lets every promise settle that can. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
