/** What grows, and is shown by how much in each step. */
const COUNTED = ["decisions", "blocked", "asked", "ledger_entries", "log_events", "requests"] as const;
/** What is shown as it is. */
const MEASURED = [
  "latency_p50_ms",
  "latency_p99_ms",
  "event_loop_p99_ms",
  "rss_bytes",
  "pending_approvals",
] as const;
const NAMES = [...COUNTED, ...MEASURED];
const KEPT = 720;

/** What was found at the end of a step. */
export type Step = Readonly<Record<(typeof COUNTED)[number], number>> &
  Readonly<Record<(typeof MEASURED)[number], number | null>>;

type Series = Record<(typeof NAMES)[number], (number | null)[]>;

/** The last hour in steps, for pictures. */
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
    if (this.#at.length <= KEPT) return;
    this.#at.shift();
    for (const name of NAMES) this.#series[name].shift();
  }

  /** How many came in a second of late, of something that is counted. */
  perSecond(name: (typeof COUNTED)[number], steps = 6): number {
    const recent = this.#series[name].slice(-steps).filter((value) => value !== null);
    if (recent.length === 0) return 0;
    const sum = recent.reduce((total, value) => total + value, 0);
    return Math.round((sum / ((recent.length * this.#stepMs) / 1_000)) * 100) / 100;
  }

  /** All of it. */
  read(): object {
    return { step_ms: this.#stepMs, at: this.#at, ...this.#series };
  }
}

/** By how much something has grown; what began anew has grown by all of it. */
function grown(before: number | undefined, now: number): number | null {
  if (before === undefined) return null;
  return now >= before ? now - before : now;
}
