import type { Cursor, Gap, Hole, LoggedEvent } from "./logged-event.ts";

/** Who follows sessions. */
export interface LogSubscriber {
  readonly tenant: string;
  /** Takes a message. A promise says that there is no room for more until it settles. */
  event(event: LoggedEvent): void | Promise<void>;
  /** Called with messages of a session that are lost. */
  gap(session: string, gap: Gap): void;
  /** Called when the log can no longer be followed. */
  failed(error: unknown): void;
}

/** What a subscription needs of the log. */
export interface LogSource {
  readonly epoch: number;
  page(sessions: readonly string[], after: number): Promise<LoggedEvent[]>;
  /** The last position of an epoch or an earlier one. */
  lastOf(epoch: number): Promise<number>;
  prunedUntil(session: string): Promise<number>;
  /** What was written after a position and is lost. */
  holes(after: number): Promise<readonly Hole[]>;
  /** The last position that is known to be written; 0 before the first of this epoch. */
  written(): number;
  /** The position of the last message of a session that was written lately; 0 where none was. */
  newest(session: string): number;
  join(session: string, subscription: Subscription): void;
  leave(session: string, subscription: Subscription): void;
}

/**
 * Follows sessions in the order of the log. While its subscriber keeps up, messages are handed on as they are written;
 * one that falls behind, or reconnects, reads what it missed from the disk first.
 */
export class Subscription {
  readonly #source: LogSource;
  readonly #subscriber: LogSubscriber;
  /** The sessions, and the position from which each is followed. */
  readonly #sessions = new Map<string, number>();
  #position: number;
  #from: Cursor;
  #catching: Promise<void> | undefined;
  /** Whether it was looked at whether everything is there that is to come. */
  #looked = false;
  /** How often a session was added. */
  #added = 0;
  #closed = false;

  constructor(source: LogSource, subscriber: LogSubscriber, from: Cursor) {
    this.#source = source;
    this.#subscriber = subscriber;
    this.#from = from;
    this.#position = from.order;
  }

  /** The position of the last message that was delivered. */
  get position(): number {
    return this.#position;
  }

  /** The sessions that are followed. */
  get sessions(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** Adds a session, from a position that is not before what was delivered; by default from now on. */
  add(session: string, after = this.#position): void {
    if (this.#closed || this.#sessions.has(session)) return;
    this.#sessions.set(session, after);
    this.#added += 1;
    this.#source.join(session, this);
    if (after < this.#source.written() || this.#from.epoch !== this.#source.epoch) this.#catchUp();
  }

  /** Follows a session no more. */
  remove(session: string): void {
    if (!this.#sessions.delete(session)) return;
    this.#source.leave(session, this);
  }

  /** Takes a message that was just written. */
  push(event: LoggedEvent): void {
    // While it catches up, it reads the message from the store.
    if (this.#catching || this.#closed) return;
    const waiting = this.#hand(event);
    if (waiting) this.#catchUp(waiting);
  }

  /** The log cannot be written any more. */
  fail(error: unknown): void {
    if (this.#closed) return;
    this.close();
    this.#subscriber.failed(error);
  }

  /** Whether a message up to a position may still have to be delivered. */
  isBehind(order: number): boolean {
    return !this.#closed && this.#catching !== undefined && this.#position < order;
  }

  /** Settles when everything up to a position was delivered. */
  async reached(order: number): Promise<void> {
    while (this.isBehind(order)) await this.#catching;
  }

  /** Ends it. */
  close(): void {
    this.#closed = true;
    for (const session of this.#sessions.keys()) this.#source.leave(session, this);
    this.#sessions.clear();
  }

  #hand(event: LoggedEvent): void | Promise<void> {
    const since = this.#sessions.get(event.session);
    if (since === undefined || event.order <= Math.max(since, 0) || event.order <= this.#position) return;
    this.#position = event.order;
    return this.#subscriber.event(event) ?? undefined;
  }

  #catchUp(after?: Promise<void>): void {
    this.#catching ??= this.#follow(after).catch((error: unknown) => this.fail(error));
  }

  async #follow(after?: Promise<void>): Promise<void> {
    await after;
    await this.#tellGaps();
    while (!this.#closed) {
      const sessions = this.sessions;
      const position = this.#position;
      // Before asking: what is written or added while the answer is on its way is looked for once more.
      const newest = this.#newest();
      const added = this.#added;
      const events = sessions.length === 0 ? [] : await this.#source.page(sessions, position);
      for (const event of events) {
        if (this.#closed) return;
        await this.#hand(event);
      }
      const isAll = this.#newest() === newest && this.#added === added;
      if (events.length > 0 || this.#position !== position || !isAll) continue;
      // In this very moment, because what is written from now on is pushed and not looked for any more.
      this.#catching = undefined;
      return;
    }
  }

  /** The last position of its sessions: what others write does not concern it, however busy they are. */
  #newest(): number {
    let newest = 0;
    for (const session of this.#sessions.keys()) newest = Math.max(newest, this.#source.newest(session));
    return newest;
  }

  /** Reports gaps: messages that were seen and are lost, and those that were deleted. */
  async #tellGaps(): Promise<void> {
    const { epoch, order } = this.#from;
    const isOfEarlierRun = epoch !== this.#source.epoch;
    if (!isOfEarlierRun && this.#looked) return;
    this.#looked = true;
    if (isOfEarlierRun) {
      this.#from = { epoch: this.#source.epoch, order };
      const last = await this.#source.lastOf(epoch);
      if (order > last) this.#lose(last, order);
    }
    for (const [session, since] of this.#sessions) {
      const after = Math.max(since, this.#position);
      const until = await this.#source.prunedUntil(session);
      if (until > after) this.#subscriber.gap(session, { after, until, reason: "retention" });
      // Which session they belonged to is lost with them.
      for (const { first, last } of await this.#source.holes(after))
        this.#subscriber.gap(session, { after: Math.max(first - 1, after), until: last, reason: "lost" });
    }
  }

  #lose(last: number, order: number): void {
    for (const session of this.#sessions.keys()) {
      this.#subscriber.gap(session, { after: last, until: order, reason: "lost" });
      this.#sessions.set(session, last);
    }
    this.#position = last;
  }
}
