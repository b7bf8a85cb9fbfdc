import type { Clock } from "@reins/kit";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  readonly of: ProcessClock | undefined;
  isOver: boolean;
}

/** Time that passes when nothing is left to do, so that hours take seconds. */
export class VirtualTime {
  #now: number;
  #order = 0;
  /** A heap: each timer is due before the two behind it. */
  readonly #timers: Timer[] = [];

  constructor(start: number) {
    this.#now = start;
  }

  get now(): number {
    return this.#now;
  }

  /** The clock of what no process is. */
  readonly clock: Clock = {
    now: () => new Date(this.#now),
    after: (milliseconds, run) => this.add(milliseconds, run),
  };

  /** Adds a timer; returns what cancels it. */
  add(milliseconds: number, run: () => void, of?: ProcessClock): () => void {
    this.#order += 1;
    const timer = { at: this.#now + Math.max(0, milliseconds), order: this.#order, run, of, isOver: false };
    this.#push(timer);
    return () => {
      timer.isOver = true;
    };
  }

  /** Advances time until a moment, or until a condition holds. Returns whether it came to hold. */
  async run(until: number, isOver: () => boolean = () => false): Promise<boolean> {
    for (;;) {
      if (isOver()) return true;
      const next = this.#timers[0];
      if (!next || next.at > until) break;
      this.#pop();
      if (next.isOver || next.of?.hold(next.run)) continue;
      this.#now = next.at;
      next.run();
      // All that follows from it at once.
      await new Promise(setImmediate);
    }
    this.#now = Math.max(this.#now, until);
    return isOver();
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let place = heap.length;
    heap.push(timer);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = heap[above];
      if (!other || !isBefore(timer, other)) break;
      heap[place] = other;
      place = above;
    }
    heap[place] = timer;
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (!left) break;
      if (right && isBefore(right, left)) below += 1;
      const other = heap[below];
      if (!other || !isBefore(other, last)) break;
      heap[place] = other;
      place = below;
    }
    heap[place] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** The clock of a process, which can be stopped and ended. */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime;
  #state: "runs" | "stopped" | "ended" = "runs";
  #held: (() => void)[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  get isRunning(): boolean {
    return this.#state === "runs";
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  now(): Date {
    return new Date(this.#time.now);
  }

  after(milliseconds: number, run: () => void): () => void {
    return this.#time.add(milliseconds, run, this);
  }

  /** Keeps what is due while the process is stopped; what a process that has ended had to do is forgotten. */
  hold(run: () => void): boolean {
    if (this.#state === "stopped") this.#held.push(run);
    return this.#state !== "runs";
  }

  stop(): void {
    if (this.#state === "runs") this.#state = "stopped";
  }

  proceed(): void {
    if (this.#state !== "stopped") return;
    this.#state = "runs";
    for (const run of this.#held) this.after(0, run);
    this.#held = [];
  }

  end(): void {
    this.#state = "ended";
    this.#held = [];
  }
}
