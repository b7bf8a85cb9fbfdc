import { LruCache } from "@reins/kit";
import { change } from "@reins/store";
import { Backlog, detached, Followers, isFull, registerBuffer, runsOf } from "./backlog.ts";
import { Journal, stillToStore } from "./journal.ts";
import {
  type Cursor,
  type EventLogOptions,
  type LoggedEvent,
  type NewEvent,
  readWritten,
} from "./logged-event.ts";
import { type LogSubscriber, Subscription } from "./subscription.ts";
import { logTables, type Run } from "./tables.ts";

/** Sessions and connections whose last position is cached: those that were written to last. */
const MAX_SESSIONS = 20_000;

const MAX_WAITING = 10_000;
/** How long what may wait does so for more to go with. */
const GATHER_MS = 20;
const PAGE = 200;
/** So few that a concurrent write hardly waits. */
const PRUNED_AT_ONCE = 500;
const PAGE_SIZE = 512 * 1024;
/** How long what found no room on the disk waits before it is tried again. */
const FULL_MS = 250;

/** Messages on their way to the store, for which clients wait. */
interface Unhanded {
  readonly batch: readonly NewEvent[];
  readonly runs: readonly Run[];
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Every message to every client, in order. A message is written before any client receives it: to the journal, and from
 * there, many of all sessions in one commit, to the store; without a journal to the store at once. A slow reader reads
 * from the store, and costs no memory meanwhile.
 */
export class EventLog {
  /** That of the process. */
  readonly epoch: number;
  /** Those of tenants that the process took over, each later than what the one before wrote. */
  readonly #epochs = new Map<string, number>();
  readonly #options: EventLogOptions;
  readonly #journal: Journal | undefined;
  readonly #followers = new Followers();
  readonly #backlog: Backlog;
  /** The last position of each tenant that was assigned, and the last that is written. */
  readonly #placed: Map<string, number>;
  readonly #last: Map<string, number>;
  readonly #lastOfSession = new LruCache<string, number>({ entries: MAX_SESSIONS });
  #waiting: NewEvent[] = [];
  /** Without a journal: what the store does not have yet, the oldest first. */
  #unhanded: Unhanded[] = [];
  #soon = false;
  #handing = false;
  /** Tries again to write what found no room on the disk. */
  #retry: NodeJS.Timeout | undefined;
  #isFull = false;
  #closing = false;
  readonly #unregister: () => void;
  /** Sees to what waits for more to go with. */
  #timer: NodeJS.Timeout | undefined;
  /** Settles when the newest message is written and on its way. */
  #newest = detached();
  #failure: unknown;

  private constructor(
    options: EventLogOptions,
    {
      epoch,
      journal,
      lasts,
    }: { epoch: number; journal: Journal | undefined; lasts: ReadonlyMap<string, number> },
  ) {
    const { store, maxWaiting: most = MAX_WAITING } = options;
    this.#options = options;
    this.#journal = journal;
    this.#backlog = new Backlog({
      store,
      most,
      isUrgent: journal === undefined,
      onFailed: (error) => this.#fail(error),
      onFull: options.onFull,
    });
    this.#unregister = registerBuffer(store, async () => {
      await this.written();
      this.#backlog.bringGathered();
    });
    this.#placed = new Map(lasts);
    this.#last = new Map(lasts);
    this.epoch = epoch;
    this.#newest.resolve();
  }

  /** Opens the log, in an epoch of its own. What an earlier run left in the journal is brought to the store first. */
  static async open(options: EventLogOptions): Promise<EventLog> {
    const { store } = options;
    const journal = options.journal === undefined ? undefined : await Journal.open(options.journal);
    const lasts = new Map(journal && (await store.query(logTables, "lasts", null)));
    const { runs, holes } = journal ? stillToStore(journal, lasts) : { runs: [], holes: [] };
    const changes = [change(logTables, "append", { runs, holes }), change(logTables, "begin", null)] as const;
    const [, epoch] = await store.commit(changes);
    for (const hole of holes) options.onLost?.(hole);
    journal?.begin();
    return new EventLog(options, { epoch, journal, lasts });
  }

  /** Goes on with the messages of a tenant where the process that wrote them before has come. */
  async adopt(tenant: string): Promise<void> {
    const { store } = this.#options;
    const [epoch] = await store.commit([change(logTables, "begin", null)]);
    const last = await store.query(logTables, "last", { tenant });
    this.#epochs.set(tenant, epoch);
    this.#placed.set(tenant, last);
    this.#last.set(tenant, last);
  }

  /** When the messages of a tenant are written that are written now. */
  epochOf(tenant: string): number {
    return this.#epochs.get(tenant) ?? this.epoch;
  }

  /** Leaves the messages of a tenant to another process. */
  release(tenant: string): void {
    this.#placed.delete(tenant);
    this.#last.delete(tenant);
  }

  /**
   * Adds a message. A promise is to be waited for: too much waits to be written. A relaxed one, that has no follower, is
   * written with the next or a little later.
   */
  append(event: NewEvent, { relaxed = false } = {}): void | Promise<void> {
    if (this.#failure !== undefined) return refused(this.#failure);
    if (!this.#journal && !this.#placed.has(event.tenant))
      return refused(new Error(`another node serves the tenant ${event.tenant}`));
    if (this.#waiting.push(event) === 1) this.#newest = detached();
    const room = this.#backlog.add();
    if (relaxed && !this.#followers.has(keyOf(event.tenant, event.session))) this.#seeToItLater();
    else this.#writeSoon();
    return room;
  }

  /** Settles when the store has everything that was appended; rejects when it cannot. */
  async flush(): Promise<void> {
    while (!this.#backlog.isEmpty && this.#failure === undefined) {
      await this.written();
      await this.#backlog.inStore();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Lets go of the journal, once the store has everything. Nothing may be appended any more. */
  async close(): Promise<void> {
    // Who stops does not wait for room on the disk.
    this.#closing = true;
    this.#backlog.hurry();
    try {
      await this.flush();
    } finally {
      clearTimeout(this.#timer);
      clearTimeout(this.#retry);
      this.#unregister();
      this.#journal?.close();
    }
  }

  /** Settles when what was appended by now is written and on its way, whatever is appended meanwhile. */
  async written(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#handing) this.#write();
    await this.#newest.promise;
  }

  /** The last position of a tenant, after everything that was appended. */
  async end(tenant: string): Promise<Cursor> {
    await this.written();
    return { epoch: this.epochOf(tenant), order: this.last(tenant) };
  }

  /** How many messages were ever written, of all tenants. */
  get count(): number {
    return [...this.#last.values()].reduce((sum, last) => sum + last, 0);
  }

  /** The last position of a tenant that is written. */
  last(tenant: string): number {
    return this.#last.get(tenant) ?? 0;
  }

  /** How many messages are stored of each of some sessions. */
  async counts(tenant: string, sessions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    await this.#backlog.inStore();
    return this.#options.store.query(logTables, "counts", { tenant, sessions });
  }

  /** How many bytes the messages of a tenant take. */
  stored(tenant: string): Promise<number> {
    return this.#options.store.query(logTables, "stored", { tenant });
  }

  /** The position of the last message of a session that was written lately; 0 where none was. */
  lastOf(tenant: string, session: string): number {
    return this.#lastOfSession.get(keyOf(tenant, session)) ?? 0;
  }

  /** Deletes messages that are older than a time, in milliseconds since 1970. A reader of them gets a gap. */
  async prune(before: number): Promise<void> {
    const forget = change(logTables, "prune", { before, limit: PRUNED_AT_ONCE });
    for (;;) {
      const [count] = await this.#options.store.commit([forget], { durable: false });
      if (count < PRUNED_AT_ONCE) return;
    }
  }

  /** The position up to which messages of a session were deleted; 0 when none were. */
  prunedUntil(tenant: string, session: string): Promise<number> {
    return this.#options.store.query(logTables, "prunedUntil", { tenant, session });
  }

  /** Follows sessions from a position on. */
  subscribe(subscriber: LogSubscriber, from: Cursor): Subscription {
    return new Subscription(
      {
        epoch: this.epochOf(subscriber.tenant),
        page: (sessions, after) => this.page(subscriber.tenant, sessions, after),
        lastOf: (epoch) =>
          this.#options.store.query(logTables, "lastOf", { tenant: subscriber.tenant, epoch }),
        prunedUntil: (session) => this.prunedUntil(subscriber.tenant, session),
        holes: (after) => this.#options.store.query(logTables, "holes", { tenant: subscriber.tenant, after }),
        written: () => this.last(subscriber.tenant),
        newest: (session) => this.lastOf(subscriber.tenant, session),
        join: (session, subscription) =>
          this.#followers.join(keyOf(subscriber.tenant, session), subscription),
        leave: (session, subscription) =>
          this.#followers.leave(keyOf(subscriber.tenant, session), subscription),
      },
      subscriber,
      from,
    );
  }

  /** A page of messages of sessions after a position, oldest first; empty when there are no more. */
  async page(tenant: string, sessions: readonly string[], after: number): Promise<LoggedEvent[]> {
    const range = { tenant, sessions, after, limit: PAGE, size: PAGE_SIZE };
    await this.#backlog.inStore();
    const page = await this.#options.store.query(logTables, "written", range);
    return page.map(readWritten);
  }

  /** Whatever is appended in the same turn of the event loop is written together. */
  #writeSoon(): void {
    if (this.#soon || this.#waiting.length === 0) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#write();
    });
  }

  /** What is not urgent does not wait for ever. One timer does for all, so that most messages cost none. */
  #seeToItLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#write();
      this.#backlog.bringGathered();
    }, GATHER_MS);
  }

  /** Writes what waits, and hands it on. */
  #write(): void {
    const batch = this.#waiting;
    if (batch.length === 0 || this.#failure !== undefined) return;
    if (this.#retry && !this.#closing) return;
    const newest = this.#newest;
    this.#waiting = [];
    const epochOf = (tenant: string) => this.epochOf(tenant);
    const runs = runsOf(batch, { epochOf, at: this.#options.now(), places: this.#placed });
    const journal = this.#journal;
    if (!journal) {
      this.#bring({ batch, runs, written: newest });
      return;
    }
    try {
      const mark = this.#added(journal, runs, batch);
      if (mark === undefined) return;
      this.#backlog.gather(runs, batch.length, () => journal.stored(mark));
      this.#seeToItLater();
      this.#handOn(batch, runs);
      newest.resolve();
    } catch (error) {
      newest.reject(error);
      this.#fail(error);
    }
  }

  /** Brings messages to the store, and hands them on when it has them. */
  #bring(unhanded: Unhanded): void {
    this.#unhanded.push(unhanded);
    // What the store has, it has with everything before.
    const stored = () => {
      const until = this.#unhanded.indexOf(unhanded) + 1;
      for (const { batch, runs, written } of this.#unhanded.splice(0, until)) {
        this.#handOn(batch, runs);
        written.resolve();
      }
    };
    this.#backlog.gather(unhanded.runs, unhanded.batch.length, stored);
    this.#backlog.bringGathered();
  }

  /** Writes to the journal; gives nothing where there is no room on the disk, and tries again later. */
  #added(journal: Journal, runs: readonly Run[], batch: NewEvent[]): number | undefined {
    try {
      const mark = journal.add(runs);
      if (this.#isFull) this.#options.onFull?.(false);
      this.#isFull = false;
      return mark;
    } catch (error) {
      if (!isFull(error) || this.#closing) throw error;
      for (const { tenant, first } of runs.toReversed()) this.#placed.set(tenant, first - 1);
      this.#waiting = batch;
      if (!this.#isFull) this.#options.onFull?.(true, error);
      this.#isFull = true;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#write();
      }, FULL_MS);
      return undefined;
    }
  }

  /** Rejects appends, waits and reads; nothing more is written. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#waiting = [];
    this.#newest.reject(error);
    for (const { written } of this.#unhanded.splice(0)) written.reject(error);
    this.#backlog.fail(error);
    this.#followers.fail(error);
  }

  #handOn(batch: readonly NewEvent[], runs: readonly Run[]): void {
    this.#handing = true;
    try {
      let index = 0;
      for (const { tenant, session, request, except, epoch, at, first, texts } of runs) {
        const key = keyOf(tenant, session);
        this.#lastOfSession.set(key, first + texts.length - 1);
        for (const [after, text] of texts.entries()) {
          const message = batch[index]?.message ?? {};
          const order = first + after;
          index += 1;
          this.#last.set(tenant, order);
          const event = { tenant, session, request, except, epoch, at, message, text, order };
          this.#followers.push(key, event);
        }
      }
    } finally {
      this.#handing = false;
    }
  }
}

function refused(reason: unknown): Promise<void> {
  const { promise, reject } = detached();
  reject(reason);
  return promise;
}

function keyOf(tenant: string, session: string): string {
  return `${tenant}\n${session}`;
}
