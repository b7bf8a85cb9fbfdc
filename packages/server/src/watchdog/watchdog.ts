import { Worker } from "node:worker_threads";

const CODE = new URL("./watchdog-thread.ts", import.meta.url);
const LIMIT_MS = 2_000;
const BEAT_MS = 250;

export interface WatchdogData {
  /** The last beat of the main thread: 64 bits, milliseconds since 1970. */
  readonly beat: SharedArrayBuffer;
  readonly limitMs: number;
  /** The file of reports, beside standard error. */
  readonly file: string | undefined;
}

/** A report of a stall or its end. */
export interface StallReport {
  readonly kind: "stalled" | "over";
  /** The last beat before it. */
  readonly at: string;
  readonly ms: number;
  /** The stack, innermost first; empty in native code. */
  readonly where: readonly string[];
}

/** Number and last report of stalls since the start. */
export interface Stalls {
  readonly count: number;
  readonly totalMs: number;
  readonly last: { readonly at: string; readonly ms: number; readonly where: readonly string[] } | undefined;
}

export interface WatchdogOptions {
  /** The file of reports, beside standard error. */
  readonly file?: string | undefined;
  /** The stall threshold. */
  readonly limitMs?: number | undefined;
}

/** A thread that detects stalls of the main thread: it writes the stack at once; health and metrics report it later. */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #beat = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stalls: Stalls = { count: 0, totalMs: 0, last: undefined };

  constructor(options: WatchdogOptions = {}) {
    this.#options = options;
  }

  get stalls(): Stalls {
    return this.#stalls;
  }

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
    // The server works without a watchdog.
    this.#worker.on("error", () => this.stop());
  }

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
