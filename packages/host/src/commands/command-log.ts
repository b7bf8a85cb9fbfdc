import type { Readable } from "node:stream";
import { type Clock, systemClock } from "@reins/kit";

/** One piece of output. */
export interface LogEntry {
  readonly sequence: number;
  readonly stream: "stdout" | "stderr" | "pty";
  readonly timestampMs: number;
  readonly data: string;
  readonly encoding: "base64";
}

/** Which output is wanted. */
export interface LogQuery {
  readonly stream?: string | undefined;
  /** How many of the last entries. */
  readonly tail?: number | undefined;
  /** The sequence number after which entries count. */
  readonly since?: number | undefined;
}

/** What a command wrote, as text. */
export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
}

/** A piece of output as it is held. */
interface Held extends Omit<LogEntry, "data" | "encoding"> {
  readonly bytes: Buffer;
}

/** What holding a piece costs beside its bytes: a command that writes them one by one is bounded, too. */
const PIECE_BYTES = 256;

/** The output of a command: the last of it, up to so many bytes. */
export class CommandLog {
  readonly #most: number;
  #entries: Held[] = [];
  #bytes = 0;
  #sequence = 0;
  #dropped = 0;
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  constructor(most: number) {
    this.#most = most;
  }

  push(stream: LogEntry["stream"], bytes: Buffer): void {
    this.#sequence += 1;
    this.#bytes += bytes.length + PIECE_BYTES;
    this.#entries.push({ sequence: this.#sequence, stream, timestampMs: Date.now(), bytes });
    if (this.#bytes > this.#most) this.#drop();
    this.#notify();
  }

  end(): void {
    this.#isOver = true;
    this.#notify();
  }

  /**
   * The entries that there are now, each looked up when it is asked for: a slow reader holds none of them, and misses those
   * that are dropped meanwhile.
   */
  *entries({ stream, tail, since = 0 }: LogQuery): Generator<LogEntry> {
    const last = this.#sequence;
    let after = tail === undefined ? since : Math.max(since, this.#beforeLast(tail, stream));
    for (;;) {
      const entry = this.#nextAfter(after, stream);
      if (!entry || entry.sequence > last) return;
      after = entry.sequence;
      const { bytes, ...shown } = entry;
      yield { ...shown, data: bytes.toString("base64"), encoding: "base64" };
    }
  }

  /** What there is, then what comes, until the end of the command. */
  async *follow(query: LogQuery, signal: AbortSignal): AsyncGenerator<LogEntry> {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const leave = () => resolve();
    signal.addEventListener("abort", leave, { once: true });
    let { since = 0, tail } = query;
    try {
      while (!signal.aborted) {
        const [changed, isOver, last] = [this.#changed.promise, this.#isOver, this.#sequence];
        for (const entry of this.entries({ ...query, tail, since })) {
          yield entry;
          if (signal.aborted) return;
        }
        since = Math.max(since, last);
        tail = undefined;
        if (isOver) return;
        await Promise.race([changed, gone]);
      }
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** The output as text, each stream up to so many bytes. */
  output(most: number): CommandOutput {
    const whole = (stream: string) =>
      Buffer.concat(this.#entries.filter((entry) => entry.stream === stream).map(({ bytes }) => bytes));
    const [stdout, stderr] = [whole("stdout"), whole("stderr")];
    return {
      stdout: stdout.subarray(0, most).toString(),
      stderr: stderr.subarray(0, most).toString(),
      stdoutTruncated: stdout.length > most || this.#dropped > 0,
      stderrTruncated: stderr.length > most || this.#dropped > 0,
    };
  }

  /** The first entry after a position; their numbers have no gaps. */
  #nextAfter(position: number, stream: string | undefined): Held | undefined {
    const [first] = this.#entries;
    if (!first) return undefined;
    for (let at = Math.max(0, position + 1 - first.sequence); at < this.#entries.length; at += 1) {
      const entry = this.#entries[at];
      if (entry && isWanted(entry, stream)) return entry;
    }
    return undefined;
  }

  /** The position after which there are so many entries. */
  #beforeLast(count: number, stream: string | undefined): number {
    let left = count;
    for (let at = this.#entries.length - 1; at >= 0; at -= 1) {
      const entry = this.#entries[at];
      if (!entry || !isWanted(entry, stream)) continue;
      if (left === 0) return entry.sequence;
      left -= 1;
    }
    return 0;
  }

  /** Drops the oldest entries down to three quarters, so that not every further one has to. */
  #drop(): void {
    let dropped = 0;
    for (; this.#bytes > this.#most * 0.75 && dropped < this.#entries.length - 1; dropped += 1)
      this.#bytes -= (this.#entries[dropped]?.bytes.length ?? 0) + PIECE_BYTES;
    this.#entries = this.#entries.slice(dropped);
    this.#dropped += dropped;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

function isWanted(entry: Held, stream: string | undefined): boolean {
  return stream === undefined || stream === "combined" || entry.stream === stream;
}

const WINDOW_MS = 100;
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * Bounds how fast the output of a principal's commands is read. Commands that write more wait at their pipes, and keep
 * neither the machine nor the requests of others busy.
 */
export class OutputPace {
  readonly #clock: Pick<Clock, "after">;
  readonly #paused = new Set<Readable>();
  #bytes = 0;
  #isCounting = false;

  constructor(clock: Pick<Clock, "after"> = systemClock) {
    this.#clock = clock;
  }

  /** Counts what was read from a stream, and pauses it where that was too much. */
  count(stream: Readable, bytes: number): void {
    if (!this.#isCounting) this.#clock.after(WINDOW_MS, () => this.#renew());
    this.#isCounting = true;
    this.#bytes += bytes;
    if (this.#bytes < WINDOW_BYTES) return;
    this.#paused.add(stream.pause());
  }

  #renew(): void {
    this.#isCounting = false;
    this.#bytes = 0;
    const paused = [...this.#paused];
    this.#paused.clear();
    for (const stream of paused) stream.resume();
  }
}
