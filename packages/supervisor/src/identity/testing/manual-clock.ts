import type { Clock } from "../../clock.ts";

/** A clock that a test moves by hand. */
export class ManualClock implements Clock {
  #now = Date.parse("2026-11-15T05:20:00.000Z");

  now(): Date {
    return new Date(this.#now);
  }

  after(): () => void {
    return () => undefined;
  }

  /** Moves on, or back. */
  move(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
