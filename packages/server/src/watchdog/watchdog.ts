import { Worker } from "node:worker_threads";

const CODE = new URL("./watchdog-thread.ts", import.meta.url);
const LIMIT_MS = 2_000;
const BEAT_MS = 250;

/** What the thread of a watchdog is started with. */
export interface WatchdogData {
  /** When the main thread was last seen to go on: one number of 64 bits, in milliseconds since 1970. */
  readonly beat: SharedArrayBuffer;
  readonly limitMs: number;
  /** Where it writes what it saw, beside standard error. */
  readonly file: string | undefined;
}

/** What a watchdog saw: that the main thread stands still, and where; or that it went on after so long. */
export interface StallReport {
  readonly kind: "stalled" | "over";
  /** When it was last seen to go on. */
  readonly at: string;
  readonly ms: number;
  /** The functions that it was in, the innermost first; none where that is native code. */
  readonly where: readonly string[];
}

/** How often the main thread stood still since the start, and the last time. */
export interface Stalls {
  readonly count: number;
  readonly totalMs: number;
  readonly last: { readonly at: string; readonly ms: number; readonly where: readonly string[] } | undefined;
}

/** How a watchdog watches. */
export interface WatchdogOptions {
  /** Where it writes what it saw, beside standard error. */
  readonly file?: string | undefined;
  /** How long the main thread may stand still. */
  readonly limitMs?: number | undefined;
}

/**
 * A thread that notices when the main thread stands still, for which nobody is answered: it writes at once where that was,
 * and afterwards health and metrics tell of it.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #beat = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stalls: Stalls = { count: 0, totalMs: 0, last: undefined };

  constructor(options: WatchdogOptions = {}) {
    this.#options = options;
  }

  /** What it saw since it was started. */
  get stalls(): Stalls {
    return this.#stalls;
  }

  /** Begins to watch. */
  start(): void {
    if (this.#worker) return;
    const { file, limitMs = LIMIT_MS } = this.#options;
    const goesOn = () => void Atomics.store(new BigInt64Array(this.#beat), 0, BigInt(Date.now()));
    goesOn();
    this.#timer = setInterval(goesOn, BEAT_MS).unref();
    const workerData: WatchdogData = { beat: this.#beat, limitMs, file };
    this.#worker = new Worker(CODE, { workerData, stdin: false, name: "reins watchdog" });
    this.#worker.unref();
    this.#worker.on("message", (report: StallReport) => this.#note(report));
    // Without it everything else goes on.
    this.#worker.on("error", () => this.stop());
  }

  /** Watches no more. */
  stop(): void {
    clearInterval(this.#timer);
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #note({ kind, at, ms, where }: StallReport): void {
    const { count, totalMs, last } = this.#stalls;
    this.#stalls =
      kind === "stalled"
        ? { count: count + 1, totalMs, last: { at, ms, where } }
        : { count, totalMs: totalMs + ms, last: { at, ms, where: last?.where ?? [] } };
  }
}
