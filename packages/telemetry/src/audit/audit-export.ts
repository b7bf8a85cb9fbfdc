import {
  AutoResetEvent,
  type Clock,
  errorMessage,
  exponentialBackoff,
  raceAbort,
  readJsonFile,
  replaceFile,
  sleep,
} from "@reins/kit";
import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import { z } from "zod";
import { type AuditDestination, DeliveryError } from "./destinations.ts";
import { type AuditCursor, type AuditRecords, cursorText, FIRST, isCursorOf, readCursor } from "./records.ts";

/** A cursor that does not belong to the ledger. */
export class CursorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CursorError";
  }
}

export interface AuditExportOptions {
  readonly ledger: Pick<LedgerReader, "read">;
  readonly records: Pick<AuditRecords, "line">;
  readonly destination: AuditDestination;
  /** The durable cursor; without one the caller says where the export begins. */
  readonly cursor?: CursorFile | undefined;
  readonly clock: Clock;
}

const BATCH_ENTRIES = 500;
const BATCH_CHARACTERS = 1 << 20;

/** Exports a ledger in order: the cursor moves when the destination has the records, so that none is lost. */
export class AuditExport {
  readonly #options: AuditExportOptions;
  #position: AuditCursor = FIRST;
  #batch = BATCH_ENTRIES;

  constructor(options: AuditExportOptions) {
    this.#options = options;
  }

  /** The last record that arrived. */
  get position(): AuditCursor {
    return this.#position;
  }

  /** Finds where to continue: after a given cursor, else after the newest that is known and is in the ledger. */
  async begin(from?: AuditCursor): Promise<void> {
    const { ledger, destination, cursor } = this.#options;
    const last = await destination.last?.();
    if (from) {
      if (!(await isCursorOf(ledger, from)))
        throw new CursorError(
          `the ledger has no entry ${cursorText(from)}: it is another one, or was cut off`,
        );
      this.#position = from;
      return;
    }
    const { marks } = (await cursor?.load()) ?? { marks: [] };
    const known = [...marks, ...(last ? [last] : [])].toSorted((left, right) => right.seq - left.seq);
    for (const candidate of known)
      if (await isCursorOf(ledger, candidate)) {
        this.#position = candidate;
        await cursor?.resume(candidate);
        return;
      }
    if (known.length > 0)
      throw new CursorError(
        `the ledger has none of the entries that were exported last: it is another one${cursor ? `; remove ${cursor.path} to begin anew` : ""}`,
      );
    this.#position = FIRST;
  }

  /** Exports until there is nothing more, or the signal aborts. Rejects with a {@link DeliveryError} when the destination does not take it. */
  async drain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = await this.#next();
      if (!batch) return;
      try {
        // A stream whose reader hangs settles nothing.
        await raceAbort(this.#options.destination.write(batch.lines, batch.last, signal), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof DeliveryError) || !error.isTooLarge || batch.lines.length === 1) throw error;
        this.#batch = Math.max(1, Math.floor(batch.lines.length / 2));
        continue;
      }
      this.#position = batch.last;
      this.#batch = Math.min(BATCH_ENTRIES, this.#batch * 2);
      await this.#options.cursor?.arrived(batch.last, this.#options.clock.now());
    }
  }

  /** The next records, or nothing. */
  async #next(): Promise<{ readonly lines: readonly string[]; readonly last: AuditCursor } | undefined> {
    const { ledger, records } = this.#options;
    const range = { after: this.#position.seq, order: "oldest", limit: this.#batch } as const;
    const lines: string[] = [];
    let last: PlacedEntry | undefined;
    let characters = 0;
    for (const placed of await ledger.read(range)) {
      const line = await records.line(placed);
      if (last && characters + line.length > BATCH_CHARACTERS) break;
      characters += line.length;
      lines.push(line);
      last = placed;
    }
    return last && { lines, last: { seq: last.seq, cid: last.entry.cid } };
  }
}

export interface ContinuousExportOptions extends AuditExportOptions {
  readonly name: string;
  /** Notifies of new entries; returns `unsubscribe`. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Receives why the export stands still, once for each cause, and that it goes on. */
  readonly onError: (error: unknown) => void;
}

/** How long entries gather, so that they are sent together. */
const GATHER_MS = 250;
const BACKOFF = { firstMs: 1_000, mostMs: 60_000 };

/** Exports as entries are written, one batch at a time, until it is closed. What fails is tried again, without end. */
export class ContinuousExport {
  readonly #options: ContinuousExportOptions;
  readonly #export: AuditExport;
  readonly #stop = new AbortController();
  readonly #wake = new AutoResetEvent();
  readonly #unsubscribe: () => void;
  readonly #running: Promise<void>;
  #failures = 0;
  #reported: string | undefined;

  constructor(options: ContinuousExportOptions) {
    this.#options = options;
    this.#export = new AuditExport(options);
    this.#unsubscribe = options.subscribe(() => this.#wake.set());
    this.#running = this.#run();
  }

  /** Stops; what has not arrived is exported after the next start. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#stop.abort();
    this.#wake.set();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    let hasBegun = false;
    while (!signal.aborted) {
      try {
        if (!hasBegun) await this.#export.begin();
        hasBegun = true;
        await this.#export.drain(signal);
        if (signal.aborted) return;
        this.#succeeded();
        await this.#wake.wait();
        await sleep(GATHER_MS, clock, signal);
      } catch (error) {
        if (signal.aborted) return;
        await sleep(await this.#failed(error), clock, signal);
      }
    }
  }

  #succeeded(): void {
    if (this.#failures > 0)
      this.#options.onError(new Error(`the audit export "${this.#options.name}" goes on`));
    this.#failures = 0;
    this.#reported = undefined;
  }

  /** Reports a failure; returns how long to wait. */
  async #failed(error: unknown): Promise<number> {
    const { name, cursor, clock, onError } = this.#options;
    const why = errorMessage(error);
    this.#failures += 1;
    if (this.#reported !== why)
      onError(new Error(`the audit export "${name}" stands still: ${why}`, { cause: error }));
    this.#reported = why;
    await cursor?.failed(why, clock.now()).catch(onError);
    const wanted = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(exponentialBackoff(BACKOFF, this.#failures), wanted);
  }
}

const Cursor = z.string().transform((text, context): AuditCursor => {
  const cursor = readCursor(text);
  if (cursor) return cursor;
  context.addIssue({ code: "custom", message: "is no cursor" });
  return z.NEVER;
});

/** What is stored of an export. */
const State = z.object({
  /** After the newest records that arrived, the newest last. Earlier ones count where the ledger lost the newest. */
  marks: z.array(Cursor),
  /** When the newest arrived. */
  at: z.string().optional(),
  /** Why the export stands still. */
  failure: z.object({ since: z.string(), error: z.string() }).optional(),
});
export type ExportState = z.output<typeof State>;

const MOST_MARKS = 32;

/** The durable place of an export, and how it fares. */
export class CursorFile {
  readonly path: string;
  #state: ExportState = { marks: [] };

  constructor(path: string) {
    this.path = path;
  }

  get state(): ExportState {
    return this.#state;
  }

  async load(): Promise<ExportState> {
    this.#state = (await readJsonFile(this.path, State)) ?? { marks: [] };
    return this.#state;
  }

  /** Stores that everything up to a cursor has arrived. */
  async arrived(cursor: AuditCursor, at: Date): Promise<void> {
    await this.#store({ marks: [...this.#state.marks, cursor].slice(-MOST_MARKS), at: at.toISOString() });
  }

  /** Forgets the marks after a cursor, which the ledger does not have. */
  async resume(cursor: AuditCursor): Promise<void> {
    const marks = this.#state.marks.filter(({ seq }) => seq <= cursor.seq);
    if (marks.length < this.#state.marks.length) await this.#store({ ...this.#state, marks });
  }

  async failed(error: string, at: Date): Promise<void> {
    const { failure, ...rest } = this.#state;
    await this.#store({ ...rest, failure: { since: failure?.since ?? at.toISOString(), error } });
  }

  async #store(state: ExportState): Promise<void> {
    this.#state = state;
    await replaceFile(
      this.path,
      `${JSON.stringify({ ...state, marks: state.marks.map(cursorText) }, undefined, 2)}\n`,
    );
  }
}
