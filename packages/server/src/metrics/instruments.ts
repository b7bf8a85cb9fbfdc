/** Labels of a series. */
export type Labels = Readonly<Record<string, string>>;

/** A counter per set of labels. The number of sets must be bounded. */
export class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();
  #total = 0;

  add(labels: Labels = {}, by = 1): void {
    this.#total += by;
    const key = Object.values(labels).join("\n");
    const known = this.#counts.get(key);
    if (known) known.value += by;
    else this.#counts.set(key, { labels, value: by });
  }

  /** The sum over all labels. */
  get total(): number {
    return this.#total;
  }

  get series(): readonly { readonly labels: Labels; readonly value: number }[] {
    return [...this.#counts.values()];
  }

  /** The counts by the value of one label. */
  by(label: string): Readonly<Record<string, number>> {
    const counts = new Map<string, number>();
    for (const { labels, value } of this.#counts.values()) {
      const name = labels[label];
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + value);
    }
    return Object.fromEntries(counts);
  }
}

/** Durations: a histogram, and a ring of the newest for percentiles. */
export class Timings {
  /** The upper bounds of the buckets, in milliseconds. */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  /** A ring of the newest durations and the times of their recording. */
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

  /** Records a duration. */
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

  /** Counts up to each bound. */
  get cumulative(): readonly number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }

  /** Percentiles of the newest durations within a window. */
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

/** Percentiles in milliseconds. */
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

/** Counters, shown as their growth per step. */
const COUNTED = ["decisions", "blocked", "asked", "ledger_entries", "log_events", "requests"] as const;
/** Gauges, shown as they are. */
const MEASURED = [
  "latency_p50_ms",
  "latency_p99_ms",
  "event_loop_p99_ms",
  "rss_bytes",
  "pending_approvals",
] as const;
const NAMES = [...COUNTED, ...MEASURED];
const KEPT_STEPS = 720;

/** The values at the end of a step. */
export type Step = Readonly<Record<(typeof COUNTED)[number], number>> &
  Readonly<Record<(typeof MEASURED)[number], number | null>>;

type Series = Record<(typeof NAMES)[number], (number | null)[]>;

/** The last hour in steps, for charts. */
export class History {
  readonly #stepMs: number;
  readonly #at: number[] = [];
  readonly #series: Series;
  #last: Step | undefined;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
    const empty = (): (number | null)[] => [];
    this.#series = {
      ...{ decisions: empty(), blocked: empty(), asked: empty(), ledger_entries: empty() },
      ...{ log_events: empty(), requests: empty(), latency_p50_ms: empty(), latency_p99_ms: empty() },
      ...{ event_loop_p99_ms: empty(), rss_bytes: empty(), pending_approvals: empty() },
    };
  }

  /** Adds a step. */
  add(at: number, step: Step): void {
    this.#at.push(at);
    for (const name of COUNTED) this.#series[name].push(grown(this.#last?.[name], step[name]));
    for (const name of MEASURED) this.#series[name].push(step[name]);
    this.#last = step;
    if (this.#at.length <= KEPT_STEPS) return;
    this.#at.shift();
    for (const name of NAMES) this.#series[name].shift();
  }

  /** The recent rate of a counter per second. */
  perSecond(name: (typeof COUNTED)[number], steps = 6): number {
    const recent = this.#series[name].slice(-steps).filter((value) => value !== null);
    if (recent.length === 0) return 0;
    const sum = recent.reduce((total, value) => total + value, 0);
    return Math.round((sum / ((recent.length * this.#stepMs) / 1_000)) * 100) / 100;
  }

  read() {
    return { step_ms: this.#stepMs, at: this.#at, ...this.#series };
  }
}

/** The growth of a counter; after a reset its whole value. */
function grown(before: number | undefined, now: number): number | null {
  if (before === undefined) return null;
  return now >= before ? now - before : now;
}
