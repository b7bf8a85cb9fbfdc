/** How long things took: counted for good in buckets, and the newest kept as they are for percentiles. */
export class Timings {
  /** The upper ends of the buckets, in milliseconds. */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  /** The newest, in a ring: how long each took, and when it was noted. */
  readonly #newest = new Float64Array(KEPT);
  readonly #notedAt = new Float64Array(KEPT);
  readonly #now: () => number;
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[], now: () => number) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
    this.#now = now;
  }

  /** Notes that something took so many milliseconds. */
  note(ms: number): void {
    const place = this.#count % KEPT;
    this.#newest[place] = ms;
    this.#notedAt[place] = this.#now();
    this.#count += 1;
    this.#sum += ms;
    const bucket = this.bounds.findIndex((bound) => ms <= bound);
    if (bucket >= 0) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many took no longer than each bound. */
  get cumulative(): readonly number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }

  /** What the newest took, of those that were noted within a time. */
  percentiles(withinMs: number): Percentiles {
    const since = this.#now() - withinMs;
    const kept = Math.min(this.#count, KEPT);
    const recent = this.#newest.slice(0, kept).filter((_, place) => (this.#notedAt[place] ?? 0) >= since);
    recent.sort();
    const at = (share: number) =>
      round(recent[Math.min(recent.length - 1, Math.floor(recent.length * share))] ?? 0);
    return { count: recent.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
  }
}

/** How long so many of a hundred took at most, in milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

const KEPT = 2_048;

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
