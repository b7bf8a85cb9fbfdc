import { type JsonObject, type RequestId, RpcError } from "@reins/acp";
import {
  type Connection,
  Conversation,
  type Cursor,
  type Feed,
  GAP,
  type Gap,
  type Hub,
  type Outlet,
} from "@reins/host";
import type { Clock } from "@reins/kit";
import { change, type Store } from "@reins/store";
import type { Principal } from "@reins/supervisor";
import { type ConnectionRecord, connectionTables } from "./tables.ts";

/** What a kept connection stands on. */
export interface DurableConnectionParts {
  readonly hub: Hub;
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  /** Told what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/** What of a connection a stream brings: one session, what belongs to none, or everything. */
export type Part = string | null | undefined;

/** Where a stream begins: after a place in the log, and what before it cannot be had any more. */
export interface Beginning {
  readonly from: Cursor;
  readonly lost?: Gap;
}

/** How often it is noted that a client is there. */
const SEEN_MS = 60_000;
/** Stands for the stream of what belongs to no session. */
const WHOLE = "";

/**
 * A client that comes and goes: what it follows and where it began are on disk, so that it finds everything in its
 * place after a cut line or a restart.
 */
export class DurableConnection {
  readonly connection: Connection;
  readonly #parts: DurableConnectionParts;
  readonly #conversation: Conversation;
  /** The streams that somebody reads, each by its session. */
  readonly #claimed = new Map<string, () => void>();
  /** How far the streams of this process came. */
  readonly #reached = new Map<string, number>();
  #record: ConnectionRecord;
  /** The last change that is not on disk yet, or could not be written. */
  #saving: Promise<void> | undefined;
  #later = 0;
  #used: number;
  /** When it was last noted that its client is there. */
  #seen: number;
  #closed = false;

  private constructor(parts: DurableConnectionParts, record: ConnectionRecord, connection: Connection) {
    this.#parts = parts;
    this.#record = record;
    this.connection = connection;
    this.#conversation = new Conversation(connection, new AbortController().signal);
    this.#used = this.#now();
    this.#seen = Date.parse(record.last_seen);
  }

  /** Begins one, or takes one up as it was kept. */
  static async open(
    parts: DurableConnectionParts,
    record: ConnectionRecord,
    principal: Principal,
  ): Promise<DurableConnection> {
    const { id, agent, hears_turns: followsTurns, capabilities, epoch, start, sessions, quiet } = record;
    const from = { epoch, order: start };
    let kept: DurableConnection | undefined;
    const onFollow = () => {
      if (kept) kept.#saveSessions();
    };
    const known = { id, principal, agent, followsTurns, capabilities };
    const connection = await parts.hub.connect({ ...known, from, onFollow });
    for (const [session, after] of Object.entries(sessions)) connection.attach({ id: session }, after);
    kept = new DurableConnection(parts, record, connection);
    for (const { id: request, session } of await unansweredAfter(parts.hub, connection, quiet))
      await connection.send({ id: request, error: INTERRUPTED }, session);
    return kept;
  }

  get record(): ConnectionRecord {
    return this.#record;
  }

  /** How many streams somebody reads. */
  get streams(): number {
    return this.#claimed.size;
  }

  /** Whether nobody reads and nothing is under way; it can be forgotten, and taken up again from disk. */
  get isIdle(): boolean {
    return this.#claimed.size === 0 && this.#conversation.underWay === 0 && this.#later === 0;
  }

  /** When it was last used, in milliseconds since 1970. */
  get used(): number {
    return this.#used;
  }

  /** Notes that its client is there, as the principal it is now. */
  seen(principal: Principal): void {
    this.connection.refresh(principal);
    this.#used = this.#now();
    if (this.#used - this.#seen < SEEN_MS) return;
    this.#seen = this.#used;
    this.#save({ last_seen: new Date(this.#used).toISOString() });
  }

  /** Answers a request; what goes wrong is the answer. */
  async ask(id: RequestId, method: string, params: unknown): Promise<JsonObject> {
    const answer = await this.#conversation.ask(id, method, params);
    const settled = this.settled();
    if (settled) await settled;
    return answer;
  }

  /**
   * Settles when the agent it uses and the sessions it follows are on disk; until then its client knows nothing of them.
   * Nothing, when they are already.
   */
  settled(): Promise<void> | undefined {
    const { agent, followsTurns: hears_turns, capabilities } = this.connection;
    if (capabilities !== this.#record.capabilities && Object.keys(capabilities).length > 0)
      this.#save({ capabilities });
    if (agent !== this.#record.agent) this.#save({ agent });
    if (hears_turns !== (this.#record.hears_turns ?? false)) this.#save({ hears_turns });
    return this.#saving;
  }

  /** Takes a notification; one with which nothing can be done is passed over, because nobody can be told. */
  async notify(method: string, params: unknown): Promise<void> {
    const { onError } = this.#parts;
    await this.#conversation.notify(method, params).catch((error: unknown) => {
      if (!(error instanceof RpcError)) onError(error);
    });
  }

  /** How often people were asked before a request could be answered, and whether they are now. */
  askedFor(id: RequestId): { readonly times: number; readonly isOpen: boolean } {
    return this.#conversation.askedFor(id);
  }

  /** Has an answer come on a stream. Settles when it is certain to, even if the server should end before. */
  async later(id: RequestId, method: string, answer: Promise<JsonObject>, session?: string): Promise<void> {
    this.#later += 1;
    const noted = this.connection.note({ id, method }, this.#followed(session));
    this.#tell(answer, session).catch(this.#parts.onError);
    await noted;
    await this.#parts.hub.log.written();
  }

  /** Claims a stream for one reader; gives back how to let go of it, or nothing while somebody else reads. */
  claim(session: Part, end: () => void): (() => void) | undefined {
    const key = session ?? WHOLE;
    if (this.#claimed.has(key)) return undefined;
    this.#claimed.set(key, end);
    return () => void this.#claimed.delete(key);
  }

  /**
   * Where a stream begins. Without a last event it is the connection's beginning, or, for one that `continues`, where
   * the stream of the same session before it ended.
   */
  async beginning(
    seen: number | undefined,
    { session, continues }: { readonly session: Part; readonly continues: boolean },
  ): Promise<Beginning> {
    const { log } = this.#parts.hub;
    const { epoch: before, start, tenant, sessions } = this.#record;
    const last = log.last(tenant);
    if (before !== log.epoch) await this.#save({ epoch: log.epoch });
    const floor = (typeof session === "string" ? sessions[session] : undefined) ?? start;
    const reached = this.#reached.get(session ?? WHOLE);
    if (seen === undefined)
      return { from: { epoch: log.epoch, order: (continues ? reached : undefined) ?? floor } };
    // What was seen and is not of this run was sent by an earlier one.
    const epoch = seen <= (reached ?? 0) ? log.epoch : before;
    const order = Math.max(seen, floor);
    if (epoch !== log.epoch || order <= last) return { from: { epoch, order } };
    return { from: { epoch, order: last }, lost: { after: last, until: order, reason: "lost" } };
  }

  /** Brings messages to a reader, from the beginning that was found for it. */
  follow(outlet: Outlet, { from, lost }: Beginning, session: Part): Feed {
    const followed = session === undefined ? this.connection.sessions : [session ?? []].flat();
    for (const sessionId of lost ? followed : [])
      void outlet.send({ jsonrpc: "2.0", method: GAP, params: { sessionId, ...lost } }, undefined);
    return this.connection.open(outlet, from, session);
  }

  /** Ends what {@link follow} began. */
  unfollow(feed: Feed, session: Part): void {
    const key = session ?? WHOLE;
    this.#reached.set(key, Math.max(this.#reached.get(key) ?? 0, feed.position));
    this.connection.shut(feed);
  }

  /** Lets go of it: streams end, and what it has asked goes on. */
  close(): void {
    this.#closed = true;
    this.#parts.hub.disconnect(this.connection);
    for (const end of [...this.#claimed.values()]) end();
  }

  async #tell(answer: Promise<JsonObject>, session: string | undefined): Promise<void> {
    const { log } = this.#parts.hub;
    try {
      const { jsonrpc: _, ...message } = await answer;
      await this.connection.send(message, this.#followed(session));
      await log.written();
    } finally {
      this.#later -= 1;
      if (this.#later === 0) this.#record = { ...this.#record, quiet: log.last(this.#record.tenant) };
    }
  }

  /** The session, if it is followed: the stream of any other brings nothing, and what belongs on it comes on the connection's. */
  #followed(session: string | undefined): string | undefined {
    return session !== undefined && this.connection.following.has(session) ? session : undefined;
  }

  #saveSessions(): void {
    this.#save({ sessions: Object.fromEntries(this.connection.following) });
  }

  #save(changed: Partial<ConnectionRecord>): Promise<void> | undefined {
    const { store, onError } = this.#parts;
    this.#record = { ...this.#record, ...changed };
    // One that was ended must not come back by something that was still under way.
    if (this.#closed) return this.#saving;
    const put = change(connectionTables, "put", this.#record);
    const saving = store.commit([put], { durable: false }).then(() => {
      if (this.#saving === saving) this.#saving = undefined;
    });
    saving.catch(onError);
    this.#saving = saving;
    return saving;
  }

  #now(): number {
    return this.#parts.clock.now().getTime();
  }
}

const INTERRUPTED = {
  code: -32603,
  message: "Reins was restarted before this was answered; what was under way may or may not have happened",
  data: { interrupted: true },
};

/** A request whose answer was to come on a stream. */
interface Unanswered {
  readonly id: RequestId;
  /** The session whose stream its answer belongs on, if it belongs to one. */
  readonly session: string | undefined;
}

/** The requests that a connection noted after a place in the log and was never answered. */
async function unansweredAfter(
  hub: Hub,
  connection: Connection,
  place: number,
): Promise<readonly Unanswered[]> {
  const { id, principal, sessions } = connection;
  const channels = new Map<string, string | undefined>([
    [hub.channelOf(id), undefined],
    ...sessions.map((session) => [hub.channelOf(id, session), session] as const),
  ]);
  const open = new Map<string, Unanswered>();
  for (let after = place; ; ) {
    const page = await hub.log.page(principal.tenant, [...channels.keys()], after);
    if (page.length === 0) return [...open.values()];
    for (const { order, session: channel, message, except } of page) {
      after = order;
      const request = idIn(message);
      if (request === undefined) continue;
      if (except === id) open.set(JSON.stringify(request), { id: request, session: channels.get(channel) });
      else if (message.method === undefined) open.delete(JSON.stringify(request));
    }
  }
}

function idIn({ id }: JsonObject): RequestId | undefined {
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}
