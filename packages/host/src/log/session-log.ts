import { change, type Store } from "@reins/store";
import type { JsonObject } from "../acp/message.ts";
import type { Cursor, Gap, LoggedEvent } from "./logged-event.ts";
import { logTables } from "./tables.ts";

/** How much a log keeps at hand, and how much may wait to be written. */
export interface LogLimits {
  /** Messages at hand for readers; older ones come from the disk. */
  readonly messages: number;
  /** Characters of them, about. */
  readonly size: number;
  /** Characters that may wait to be written before whoever appends has to wait. */
  readonly waiting: number;
}

/** Bounds that suit hundreds of sessions in one process. */
export const LOG_LIMITS: LogLimits = { messages: 256, size: 64 * 1024, waiting: 256 * 1024 };

/** Who reads a log. */
export interface LogReader {
  /** Takes a message; the next one comes when the promise settles. */
  event(event: LoggedEvent): void | Promise<void>;
  /** Told of messages that can no longer be had. */
  gap(gap: Gap): void | Promise<void>;
  /** Told when the log can no longer be read. */
  failed(error: unknown): void;
}

/** What a log stands on. */
export interface SessionLogOptions {
  readonly store: Pick<Store, "commit" | "query">;
  readonly session: string;
  /** Greater than that of whoever wrote the log before. */
  readonly epoch: number;
  readonly now: () => number;
  readonly limits?: LogLimits | undefined;
}

interface Held {
  readonly event: LoggedEvent;
  readonly size: number;
}

const PAGE = 200;
const PAGE_BYTES = 256 * 1024;

/**
 * Every message to the clients of a session, in order. A message is written before anybody gets it, many in one commit;
 * readers go at their own pace, the slow ones from the disk, and cost no memory while they do not read.
 */
export class SessionLog {
  readonly #options: SessionLogOptions;
  readonly #limits: LogLimits;
  readonly #recent: Held[] = [];
  readonly #wakers = new Set<() => void>();
  #recentSize = 0;
  #waiting: Held[] = [];
  #waitingSize = 0;
  #writing: Promise<void> | undefined;
  #next: number;
  #written: number;
  #failure: unknown;

  private constructor(options: SessionLogOptions, last: number) {
    this.#options = options;
    this.#limits = options.limits ?? LOG_LIMITS;
    this.#next = last + 1;
    this.#written = last;
  }

  /** Opens the log of a session, to go on after what is there. */
  static async open(options: SessionLogOptions): Promise<SessionLog> {
    const { store, session, epoch } = options;
    const ends = await store.query(logTables, "ends", { session, epoch });
    return new SessionLog(options, ends?.last ?? 0);
  }

  /** The place after the last message. */
  get end(): Cursor {
    return { epoch: this.#options.epoch, seq: this.#next - 1 };
  }

  /** Adds a message. A promise is to be waited for: too much waits to be written. */
  append(message: JsonObject, request?: string): void | Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { epoch, now } = this.#options;
    const event: LoggedEvent = {
      seq: this.#next++,
      epoch,
      at: now(),
      message,
      ...(request !== undefined && { request }),
    };
    const size = sizeOf(message);
    this.#waiting.push({ event, size });
    this.#waitingSize += size;
    this.#writing ??= this.#begin();
    return this.#waitingSize > this.#limits.waiting ? this.#writing : undefined;
  }

  /** Settles when everything that was appended is written; rejects when it cannot be. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Reads from after a place on, first what was and then what comes, without a gap between the two. Without a place it
   * begins with the first message that is kept. The returned function ends it.
   */
  read(from: Cursor | undefined, reader: LogReader): () => void {
    const state = { open: true };
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => {
      state.open = false;
      resolve();
    };
    void this.#follow(from, reader, state, promise).catch((error: unknown) => {
      if (state.open) reader.failed(error);
    });
    return stop;
  }

  #begin(): Promise<void> {
    const writing = this.#write();
    // Whoever appends next is told.
    writing.catch(() => undefined);
    return writing;
  }

  async #write(): Promise<void> {
    // Whatever is appended in the same turn of the event loop belongs to one commit.
    await new Promise(setImmediate);
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        this.#waitingSize = 0;
        await this.#commit(batch);
      }
    } catch (error) {
      this.#failure = error;
      this.#wake();
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  async #commit(batch: readonly Held[]): Promise<void> {
    const { store, session } = this.#options;
    const events = batch.map(({ event }) => event);
    await store.commit([change(logTables, "append", { session, events })], { durable: false });
    for (const held of batch) {
      this.#recent.push(held);
      this.#recentSize += held.size;
    }
    while (this.#recent.length > this.#limits.messages || this.#recentSize > this.#limits.size) {
      const dropped = this.#recent.shift();
      if (!dropped) break;
      this.#recentSize -= dropped.size;
    }
    this.#written = events.at(-1)?.seq ?? this.#written;
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  async #follow(
    from: Cursor | undefined,
    reader: LogReader,
    state: { open: boolean },
    closed: Promise<void>,
  ): Promise<void> {
    let seen = await this.#start(from, reader);
    while (state.open) {
      if (seen >= this.#written) {
        if (this.#failure !== undefined) throw this.#failure;
        await this.#more(seen, closed);
        continue;
      }
      const events = this.#atHand(seen) ?? (await this.#fromDisk(seen));
      const [first] = events;
      if (!first) throw new Error(`the log of session ${this.#options.session} ends before its end`);
      if (first.seq > seen + 1) await reader.gap({ after: seen, until: first.seq - 1, reason: "retention" });
      for (const event of events) {
        if (!state.open) return;
        await reader.event(event);
        seen = event.seq;
      }
    }
  }

  /** Where to begin; what a reader saw that is not there any more was lost. */
  async #start(from: Cursor | undefined, reader: LogReader): Promise<number> {
    const { store, session } = this.#options;
    if (!from) {
      // Before asking: what is written while the answer is on its way must not be passed over.
      const written = this.#written;
      const ends = await store.query(logTables, "ends", { session, epoch: 0 });
      return (ends?.first ?? written + 1) - 1;
    }
    if (from.epoch === this.#options.epoch) return Math.min(from.seq, this.#next - 1);
    const ends = await store.query(logTables, "ends", { session, epoch: from.epoch });
    const last = ends?.lastOfEpoch ?? 0;
    if (from.seq <= last || last === 0) return Math.min(from.seq, this.#next - 1);
    await reader.gap({ after: last, until: from.seq, reason: "lost" });
    return last;
  }

  /** What follows a place, if all of it is at hand. */
  #atHand(seen: number): readonly LoggedEvent[] | undefined {
    const [oldest] = this.#recent;
    if (!oldest || oldest.event.seq > seen + 1) return undefined;
    return this.#recent.slice(seen + 1 - oldest.event.seq).map(({ event }) => event);
  }

  #fromDisk(seen: number): Promise<LoggedEvent[]> {
    const { store, session } = this.#options;
    return store.query(logTables, "after", { session, seq: seen, limit: PAGE, bytes: PAGE_BYTES });
  }

  #more(seen: number, closed: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakers.add(resolve);
    // Between looking and waiting nothing can have come: neither is interrupted.
    if (seen < this.#written) resolve();
    return Promise.race([promise, closed]).finally(() => this.#wakers.delete(resolve));
  }
}

/** About how many characters a message is; exact where it matters, in the long texts. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  let size = 2;
  for (const [name, member] of Object.entries(value)) size += name.length + 4 + sizeOf(member);
  return size;
}
