import { change, type Store } from "@reins/store";
import type { Cursor, LoggedEvent, NewEvent } from "./logged-event.ts";
import { type LogSubscriber, Subscription } from "./subscription.ts";
import { logTables } from "./tables.ts";

/** What a log stands on. */
export interface EventLogOptions {
  readonly store: Pick<Store, "commit" | "query">;
  readonly now: () => number;
  /** Messages that may wait to be written before whoever appends has to wait. */
  readonly maxWaiting?: number;
}

const MAX_WAITING = 2_000;
/** How many commits may be under way at once, so that the next messages gather while some are written. */
const MOST_WRITING = 4;
const PAGE = 200;
const PAGE_SIZE = 512 * 1024;

/**
 * Every message to every client, in order. A message is written before anybody gets it, many of all sessions in one
 * commit. Whoever reads slowly reads from the disk, and costs no memory meanwhile.
 */
export class EventLog {
  readonly epoch: number;
  readonly #options: EventLogOptions;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  readonly #last = new Map<string, number>();
  readonly #lastOfSession = new Map<string, number>();
  #waiting: NewEvent[] = [];
  /** How many commits are under way. */
  #writing = 0;
  #soon = false;
  /** Settles when the newest message is written and on its way. */
  #newest = unheeded();
  #failure: unknown;

  private constructor(options: EventLogOptions, epoch: number) {
    this.#options = options;
    this.epoch = epoch;
    this.#newest.resolve();
  }

  /** Opens the log, in an epoch of its own. */
  static async open(options: EventLogOptions): Promise<EventLog> {
    const [epoch] = await options.store.commit([change(logTables, "begin", null)]);
    return new EventLog(options, epoch);
  }

  /** Adds a message. A promise is to be waited for: too much waits to be written. */
  append(event: NewEvent): void | Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#waiting.push(event) === 1) this.#newest = unheeded();
    this.#writeSoon();
    return this.#waiting.length > (this.#options.maxWaiting ?? MAX_WAITING)
      ? this.#newest.promise
      : undefined;
  }

  /** Settles when everything that was appended is written and on its way; rejects when it cannot be. */
  async flush(): Promise<void> {
    while (this.#writing > 0 || this.#waiting.length > 0) await this.written();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Settles when what was appended by now is written and on its way, whatever is appended meanwhile. */
  async written(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await this.#newest.promise;
  }

  /** The last place of a tenant, after everything that was appended. */
  async end(tenant: string): Promise<Cursor> {
    await this.written();
    return { epoch: this.epoch, order: await this.last(tenant) };
  }

  /** The last place of a tenant that is written. */
  async last(tenant: string): Promise<number> {
    const known = this.#last.get(tenant);
    if (known !== undefined) return known;
    const found = await this.#options.store.query(logTables, "lastOf", { tenant, epoch: this.epoch });
    const last = this.#last.get(tenant) ?? found;
    this.#last.set(tenant, last);
    return last;
  }

  /** How many messages are kept of each of some sessions. */
  counts(tenant: string, sessions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#options.store.query(logTables, "counts", { tenant, sessions });
  }

  /** The place of the last message of a session that was written in this epoch; 0 before the first. */
  lastOf(tenant: string, session: string): number {
    return this.#lastOfSession.get(keyOf(tenant, session)) ?? 0;
  }

  /** Follows sessions from a place on. */
  subscribe(subscriber: LogSubscriber, from: Cursor): Subscription {
    return new Subscription(
      {
        epoch: this.epoch,
        page: (sessions, after) => this.page(subscriber.tenant, sessions, after),
        lastOf: (epoch) =>
          this.#options.store.query(logTables, "lastOf", { tenant: subscriber.tenant, epoch }),
        prunedUntil: (session) =>
          this.#options.store.query(logTables, "prunedUntil", { tenant: subscriber.tenant, session }),
        written: () => this.#last.get(subscriber.tenant) ?? 0,
        join: (session, subscription) => this.#join(keyOf(subscriber.tenant, session), subscription),
        leave: (session, subscription) => this.#leave(keyOf(subscriber.tenant, session), subscription),
      },
      subscriber,
      from,
    );
  }

  /** Some messages of sessions after a place, oldest first; none when there are no more. */
  async page(tenant: string, sessions: readonly string[], after: number): Promise<LoggedEvent[]> {
    const range = { tenant, sessions, after, limit: PAGE, size: PAGE_SIZE };
    const page = await this.#options.store.query(logTables, "written", range);
    return page.map((event) => ({ ...event, message: JSON.parse(event.text) }));
  }

  /** Whatever is appended in the same turn of the event loop belongs to one commit. */
  #writeSoon(): void {
    if (this.#soon || this.#writing >= MOST_WRITING || this.#waiting.length === 0) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      void this.#write(this.#waiting, this.#newest);
    });
  }

  /** Writes some messages and hands them on. Commits are kept in the order in which they are asked for. */
  async #write(
    batch: readonly NewEvent[],
    { resolve, reject }: Pick<PromiseWithResolvers<void>, "resolve" | "reject">,
  ): Promise<void> {
    this.#waiting = [];
    this.#writing += 1;
    try {
      await this.#commit(batch);
      resolve();
    } catch (error) {
      this.#fail(error);
      reject(error);
    } finally {
      this.#writing -= 1;
      this.#writeSoon();
    }
  }

  /** Whoever appends, waits or reads is told; nothing more is written. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#waiting = [];
    this.#newest.reject(error);
    for (const subscription of new Set([...this.#subscriptions.values()].flatMap((all) => [...all])))
      subscription.fail(error);
  }

  async #commit(batch: readonly NewEvent[]): Promise<void> {
    const { store, now } = this.#options;
    const at = now();
    const { epoch } = this;
    const events = batch.map(({ message, ...event }) => ({
      ...event,
      text: JSON.stringify(message),
      epoch,
      at,
    }));
    const [orders] = await store.commit([change(logTables, "append", { events })], { durable: false });
    for (const [index, event] of events.entries()) {
      const order = orders[index] ?? 0;
      this.#last.set(event.tenant, order);
      const key = keyOf(event.tenant, event.session);
      this.#lastOfSession.set(key, order);
      const subscriptions = this.#subscriptions.get(key);
      if (!subscriptions) continue;
      const placed: LoggedEvent = { ...event, message: batch[index]?.message ?? {}, order };
      for (const subscription of subscriptions) subscription.push(placed);
    }
  }

  #join(key: string, subscription: Subscription): void {
    const all = this.#subscriptions.get(key) ?? new Set();
    all.add(subscription);
    this.#subscriptions.set(key, all);
  }

  #leave(key: string, subscription: Subscription): void {
    const all = this.#subscriptions.get(key);
    all?.delete(subscription);
    if (all?.size === 0) this.#subscriptions.delete(key);
  }
}

/** A promise that nobody has to wait for. */
function unheeded(): PromiseWithResolvers<void> {
  const resolvers = Promise.withResolvers<void>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

function keyOf(tenant: string, session: string): string {
  return `${tenant}\n${session}`;
}
