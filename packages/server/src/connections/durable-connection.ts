import { type JsonObject, type RequestId, RpcError } from "@reins/acp";
import {
  type Connection,
  Conversation,
  type Cursor,
  channelOf,
  type Feed,
  GAP,
  type Gap,
  type Hub,
  type Outlet,
} from "@reins/host";
import type { Clock } from "@reins/kit";
import { change, type Store } from "@reins/store";
import type { Principal } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import { type ConnectionRecord, connectionTables } from "./tables.ts";

export interface DurableConnectionParts {
  readonly hub: Hub;
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly timeouts: AgentTimeouts;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** What a stream of a connection carries: one session, what belongs to none (null), or everything (undefined). */
export type Part = string | null | undefined;

/** Where a stream starts in the log, and the gap before it. */
export interface Beginning {
  readonly from: Cursor;
  readonly lost?: Gap;
}

/** How often the last activity of a client is stored. */
const SEEN_MS = 60_000;
/** The key of the stream of what belongs to no session. */
const WHOLE = "";

/**
 * A connection that survives disconnects and restarts: the store has the sessions it follows and its start in the
 * log.
 */
export class DurableConnection {
  readonly connection: Connection;
  readonly #parts: DurableConnectionParts;
  readonly #conversation: Conversation;
  /** Open streams by session. */
  readonly #claimed = new Map<string, () => void>();
  /** The last position sent on each stream of this process. */
  readonly #reached = new Map<string, number>();
  #record: ConnectionRecord;
  /** The pending or failed write of the record. */
  #saving: Promise<void> | undefined;
  #later = 0;
  #used: number;
  /** When the last activity was stored. */
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

  /** Opens a new connection, or resumes a stored one. */
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

  /** The number of open streams. */
  get streams(): number {
    return this.#claimed.size;
  }

  /** Whether no stream is open and no request is in progress, so that it can be unloaded. */
  get isIdle(): boolean {
    return this.#claimed.size === 0 && this.#conversation.underWay === 0 && this.#later === 0;
  }

  /** The last use, in milliseconds since 1970. */
  get used(): number {
    return this.#used;
  }

  /** Records activity of the client, with its current principal. */
  seen(principal: Principal): void {
    this.connection.refresh(principal);
    this.#used = this.#now();
    if (this.#used - this.#seen < SEEN_MS) return;
    this.#seen = this.#used;
    this.#save({ last_seen: new Date(this.#used).toISOString() });
  }

  /** Initializes the agent. Rejects when it takes too long. */
  async initialize(params: JsonObject): Promise<unknown> {
    const method = "initialize";
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = onTimeout({ method, session: undefined }, this.#parts, () =>
      reject(new HttpProblem("gateway_timeout", "the agent has not answered")),
    );
    try {
      const { signal } = new AbortController();
      const result = await Promise.race([this.connection.request(method, params, signal), late]);
      await this.settled();
      return result;
    } finally {
      cancel();
    }
  }

  /** Answers a request; an error becomes an error response. */
  async ask(id: RequestId, method: string, params: unknown): Promise<JsonObject> {
    const answer = await this.#conversation.ask(id, method, params);
    const settled = this.settled();
    if (settled) await settled;
    return answer;
  }

  /**
   * Settles when agent and sessions are stored; the client must not know of them before. Undefined when nothing is
   * pending.
   */
  settled(): Promise<void> | undefined {
    const { agent, followsTurns: hears_turns, capabilities } = this.connection;
    if (capabilities !== this.#record.capabilities && Object.keys(capabilities).length > 0)
      this.#save({ capabilities });
    if (agent !== this.#record.agent) this.#save({ agent });
    if (hears_turns !== (this.#record.hears_turns ?? false)) this.#save({ hears_turns });
    return this.#saving;
  }

  /** Handles a notification; an RPC error is ignored, because a notification has no response. */
  async notify(method: string, params: unknown): Promise<void> {
    const { onError } = this.#parts;
    await this.#conversation.notify(method, params).catch((error: unknown) => {
      if (!(error instanceof RpcError)) onError(error);
    });
  }

  /** Runs a callback when the agent takes too long for a request; returns the function that cancels it. */
  onTimeout(id: RequestId, request: Omit<Awaited, "asked">, run: () => void): () => void {
    return onTimeout({ ...request, asked: () => this.#conversation.askedFor(id) }, this.#parts, run);
  }

  /** Sends a response on a stream. Settles when that is durable, even if the server ends before. */
  async later(id: RequestId, method: string, answer: Promise<JsonObject>, session?: string): Promise<void> {
    this.#later += 1;
    const noted = this.connection.note({ id, method }, this.#followed(session));
    this.#tell(answer, session).catch(this.#parts.onError);
    await noted;
    await this.#parts.hub.log.written();
  }

  /** Claims a stream for one reader; returns the release function, or undefined while another reader has it. */
  claim(session: Part, end: () => void): (() => void) | undefined {
    const key = session ?? WHOLE;
    if (this.#claimed.has(key)) return undefined;
    this.#claimed.set(key, end);
    return () => void this.#claimed.delete(key);
  }

  /**
   * The start of a stream. Without a last event it is the connection's start, or, if it `continues`, the end of the
   * previous stream of the session.
   */
  async beginning(
    seen: number | undefined,
    { session, continues }: { readonly session: Part; readonly continues: boolean },
  ): Promise<Beginning> {
    const { log } = this.#parts.hub;
    const { epoch: before, start, tenant, sessions } = this.#record;
    const [last, now] = [log.last(tenant), log.epochOf(tenant)];
    if (before !== now) await this.#save({ epoch: now });
    const floor = (typeof session === "string" ? sessions[session] : undefined) ?? start;
    const reached = this.#reached.get(session ?? WHOLE);
    if (seen === undefined)
      return { from: { epoch: now, order: (continues ? reached : undefined) ?? floor } };
    // An event that this process has not sent is from an earlier epoch.
    const epoch = seen <= (reached ?? 0) ? now : before;
    const order = Math.max(seen, floor);
    if (epoch !== now || order <= last) return { from: { epoch, order } };
    return { from: { epoch, order: last }, lost: { after: last, until: order, reason: "lost" } };
  }

  /** Sends messages to a reader from a start. */
  follow(outlet: Outlet, { from, lost }: Beginning, session: Part): Feed {
    const followed = session === undefined ? this.connection.sessions : [session ?? []].flat();
    for (const sessionId of lost ? followed : [])
      void outlet.send({ jsonrpc: "2.0", method: GAP, params: { sessionId, ...lost } }, undefined);
    return this.connection.open(outlet, from, session);
  }

  /** Undoes {@link follow}. */
  unfollow(feed: Feed, session: Part): void {
    const key = session ?? WHOLE;
    this.#reached.set(key, Math.max(this.#reached.get(key) ?? 0, feed.position));
    this.connection.shut(feed);
  }

  /** Closes the streams; requests in progress continue. One that is ended for good does not return. */
  close(mayReturn = true): void {
    this.#closed = true;
    this.#parts.hub.disconnect(this.connection, { mayReturn });
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

  /** The session if the connection follows it; responses of other sessions go to the connection's stream. */
  #followed(session: string | undefined): string | undefined {
    return session !== undefined && this.connection.following.has(session) ? session : undefined;
  }

  #saveSessions(): void {
    this.#save({ sessions: Object.fromEntries(this.connection.following) });
  }

  #save(changed: Partial<ConnectionRecord>): Promise<void> | undefined {
    const { store, onError } = this.#parts;
    this.#record = { ...this.#record, ...changed };
    // A late write must not restore a removed connection.
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

/** A request whose response was due on a stream. */
interface Unanswered {
  readonly id: RequestId;
  /** The session of that stream, if any. */
  readonly session: string | undefined;
}

/** The requests of a connection after a position in the log that have no response. */
async function unansweredAfter(
  hub: Hub,
  connection: Connection,
  place: number,
): Promise<readonly Unanswered[]> {
  const { id, principal, sessions } = connection;
  const channels = new Map<string, string | undefined>([
    [channelOf(id), undefined],
    ...sessions.map((session) => [channelOf(id, session), session] as const),
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

/** Timeouts of agents. */
export interface AgentTimeouts {
  /** For requests other than prompts. */
  readonly requestMs: number;
  /** For prompts: the longest time without a message of the session, while no question waits for a person. */
  readonly silenceMs: number;
}

/** The request behind a deadline. */
interface Awaited {
  readonly method: string;
  readonly session: string | undefined;
  /** How many questions the request has asked, and whether one is open. */
  readonly asked?: (() => { readonly times: number; readonly isOpen: boolean }) | undefined;
}

type TimeoutParts = Pick<DurableConnectionParts, "hub" | "clock" | "timeouts">;

/**
 * Runs a callback when the deadline of a request passes; returns the function that cancels it. The deadline pauses while
 * a question is open. A prompt may run for days while messages arrive.
 */
export function onTimeout(
  { method, session, asked }: Awaited,
  { hub, clock, timeouts }: TimeoutParts,
  run: () => void,
): () => void {
  let cancel: () => void = () => undefined;
  const waitsForPerson = () =>
    session !== undefined && (hub.live(session)?.clients.questions.length ?? 0) > 0;
  const countDown = (times: number) => {
    cancel = clock.after(timeouts.requestMs, () => {
      const now = asked?.() ?? { times, isOpen: false };
      if (now.isOpen || now.times > times || waitsForPerson()) countDown(now.times);
      else run();
    });
  };
  if (method !== "session/prompt" || session === undefined) {
    countDown(0);
    return () => cancel();
  }
  const watch = (before: number) => {
    cancel = clock.after(timeouts.silenceMs, () => {
      const live = hub.live(session);
      const now = live?.lastOrder ?? before;
      if (now === before && !waitsForPerson()) run();
      else watch(now);
    });
  };
  watch(hub.live(session)?.lastOrder ?? 0);
  return () => cancel();
}
