import { CODE, type JsonObject, membersOf, type RequestId, RpcError } from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import type { Descent } from "../control/scope.ts";
import type { Cursor } from "../log/logged-event.ts";
import { sessionNamedIn } from "../wire/tap.ts";
import { Feed, type Outlet } from "./feed.ts";
import type { Hub } from "./hub.ts";
import { questionIn } from "./questions.ts";
import type { Session } from "./session.ts";
import type { SessionClients, SessionMessage, Taken } from "./session-clients.ts";

/** How a connection is made. */
export interface ConnectionOptions {
  readonly id: string;
  readonly principal: Principal;
  /** The agent of new sessions that name none. */
  readonly agent?: string | undefined;
  /** What new sessions stand under, where it is another session that begins them. */
  readonly descent?: Descent | undefined;
  /** When new sessions were begun, where they waited for their agent; by default when they are. */
  readonly begun?: Date | undefined;
  /** Whether its client wants to hear when turns begin and end. */
  readonly followsTurns?: boolean | undefined;
  /** What its client said before that it can do. */
  readonly capabilities?: JsonObject | undefined;
  /** Called when it follows another session, or one less. */
  readonly onFollow?: (() => void) | undefined;
}

/** What became of an answer: it was taken as said, answers nothing that was asked here, or something that others were asked. */
export type Answered = Taken | "unknown" | "foreign";

/** One client, however it is connected: the sessions it follows, and the ways by which their messages reach it. */
export class Connection {
  readonly id: string;
  agent: string | undefined;
  /** Whether its client wants to hear when turns begin and end. */
  followsTurns: boolean;
  /** What its client said that it can do. */
  capabilities: JsonObject;
  /** What new sessions stand under, where it is another session that begins them. */
  readonly descent: Descent | undefined;
  /** When new sessions were begun, where they waited for their agent. */
  readonly begun: Date | undefined;
  readonly #hub: Hub;
  readonly #onFollow: () => void;
  readonly #feeds = new Set<Feed>();
  /** The sessions it follows, and the position in the log from which it follows each. */
  readonly #followed = new Map<string, number>();
  /** The sessions that are replayed on the next feed. */
  readonly #unreplayed = new Map<string, Session>();
  #principal: Principal;
  #closed = false;
  /** Whether it ever had a feed; what prompts from within Reins may not. */
  #hasListened = false;

  constructor(hub: Hub, options: ConnectionOptions) {
    const {
      id,
      principal,
      agent,
      descent,
      begun,
      followsTurns = false,
      onFollow = () => undefined,
    } = options;
    this.id = id;
    this.capabilities = options.capabilities ?? {};
    this.followsTurns = followsTurns;
    this.agent = agent;
    this.descent = descent;
    this.begun = begun;
    this.#principal = principal;
    this.#hub = hub;
    this.#onFollow = onFollow;
  }

  /** Whoever is connected, as of their last request. */
  get principal(): Principal {
    return this.#principal;
  }

  /** Notes what is known now of the same principal. */
  refresh(principal: Principal): void {
    this.#principal = principal;
  }

  /** The position of the last message that was sent. */
  get position(): number {
    return Math.max(0, ...[...this.#feeds].map((feed) => feed.position));
  }

  /** The sessions it follows. */
  get sessions(): readonly string[] {
    return [...this.#followed.keys()];
  }

  /** The same, with the position in the log from which it follows each. */
  get following(): ReadonlyMap<string, number> {
    return this.#followed;
  }

  /** Brings messages to an outlet from now on: of one session, of none, or of all that it follows. */
  open(outlet: Outlet, from: Cursor, session?: string | null): Feed {
    const { log } = this.#hub;
    const question = (key: string) => this.#hub.asking(key)?.question(key);
    const seen = this.#hub.tap ? this.#seen(outlet) : outlet;
    const feed = new Feed({ log, reader: this, outlet: seen, from, session, question });
    if (typeof session !== "string") feed.add(this.#hub.channelOf(this.id), from.order);
    this.#feeds.add(feed);
    for (const [followed, after] of this.#followed) {
      const unreplayed = feed.covers(followed) ? this.#unreplayed.get(followed) : undefined;
      if (unreplayed) {
        feed.add(this.#hub.channelOf(this.id, followed), Math.max(after, from.order));
        this.#replayLater(feed, unreplayed).catch((error: unknown) => outlet.failed(error));
      } else this.#bring(feed, followed, Math.max(after, from.order));
    }
    this.#hasListened = true;
    this.#putPending(feed).catch((error: unknown) => outlet.failed(error));
    return feed;
  }

  /** Whether its client can be asked about a session: it reads what is said there, or waits for the end of its own turn. */
  canBeAsked(session: string, prompting: string | undefined): boolean {
    if (!this.#followed.has(session) || this.principal.kind === "agent") return false;
    if (prompting === this.id && this.#hasListened) return true;
    return [...this.#feeds].some((feed) => feed.covers(session));
  }

  /** Ends a way by which messages came. */
  shut(feed: Feed): void {
    feed.close();
    this.#feeds.delete(feed);
  }

  /** Asks, as the client's request; `id` is the one that it came with, where that is known here. */
  request(method: string, params: unknown, signal: AbortSignal, id?: RequestId): Promise<unknown> {
    if (this.#hub.tap) this.#see("in", { id: id ?? null, method, params });
    const answer = this.#hub.request(this, method, membersOf(params), signal);
    if (this.#hub.tap) this.#seeAnswer(id ?? null, answer);
    return answer;
  }

  /** Takes the client's notification. */
  notification(method: string, params: unknown): Promise<void> {
    if (this.#hub.tap) this.#see("in", { method, params });
    return this.#hub.notification(this, method, membersOf(params));
  }

  /** Takes the client's answer. */
  answer(id: RequestId, value: unknown): Answered {
    const by = this.principal;
    if (this.#hub.tap) this.#see("in", { id, result: value });
    return this.#settle(id, (clients, key) => clients.answer(key, this.id, { value, by }));
  }

  /** Takes the answer of a client that gets no error for it: an option that was not offered counts as no choice. */
  take(id: RequestId, value: unknown): void {
    if (this.answer(id, value) !== "not_offered") return;
    this.fail(id, { code: CODE.invalidParams, message: "the option was not offered" });
  }

  /** Takes the client's error for an answer. */
  fail(id: RequestId, error: unknown): Answered {
    if (this.#hub.tap) this.#see("in", { id, error });
    return this.#settle(id, (clients, key) =>
      clients.fail(key, this.id, RpcError.read(error), this.principal),
    );
  }

  /** Follows a session after a position; by default after what was sent. */
  attach({ id, phase }: Pick<Session, "id"> & Partial<Pick<Session, "phase">>, after = this.position): void {
    if (this.#followed.has(id) || this.#closed) return;
    this.#followed.set(id, after);
    for (const feed of this.#feeds) this.#bring(feed, id, after);
    // A session that does not start after all has no turns.
    if (phase !== "starting") this.subscribeTurns(id);
    this.#hub.live(id)?.clients.returned(this.id);
    this.#onFollow();
  }

  /** Subscribes to the turns of a session, if the client wants to. */
  subscribeTurns(session: string): void {
    if (this.followsTurns && this.#followed.has(session)) this.#hub.subscribeTurns(this, session);
  }

  /**
   * Follows a session after a replay of all of it that is stored, without a gap between the two. Without a feed, the
   * replay waits for one.
   */
  async replay(session: Session): Promise<void> {
    const feed = [...this.#feeds].find((one) => one.covers(session.id));
    if (feed) return this.attach(session, await this.#replayTo(feed, session));
    this.attach(session, session.lastOrder);
    this.#unreplayed.set(session.id, session);
  }

  /** Follows a session no more. */
  detach(session: string): boolean {
    this.#unreplayed.delete(session);
    if (!this.#followed.delete(session)) return false;
    this.#hub.turnSubscribers.remove(session, this.id);
    for (const feed of this.#feeds) {
      feed.remove(session);
      feed.remove(this.#hub.channelOf(this.id, session));
    }
    this.#hub.live(session)?.clients.left(this.id);
    this.#onFollow();
    return true;
  }

  /** Sends a message to this client only, through the log: on the feed of a session, or on the one for all else. */
  send(message: JsonObject, session?: string): void | Promise<void> {
    return this.#write({ message: membersOf(this.#hub.redact(message)) }, session);
  }

  /** Sends this client, if it follows a session, a message that is not logged. */
  sendUnlogged(session: string, message: JsonObject): void {
    if (!this.#followed.has(session)) return;
    for (const feed of this.#feeds) if (feed.covers(session)) feed.sendUnlogged(message);
  }

  /** Logs a request of this client, so that a later process can answer it. */
  note(message: JsonObject, session?: string): void | Promise<void> {
    return this.#write({ message, except: this.id }, session);
  }

  /** Asks this client what others were asked before it came. */
  ask(session: string, request: string, message: JsonObject): void | Promise<void> {
    return this.#write({ message: membersOf(this.#hub.redact(message)), request }, session);
  }

  /** Settles when everything that was said by now, or until `said` settles, has been sent. */
  async caughtUp(said?: Promise<void>): Promise<void> {
    const { log } = this.#hub;
    await (said ?? log.written());
    const last = log.last(this.principal.tenant);
    for (const feed of this.#feeds) if (feed.isBehind(last)) await feed.reached(last);
  }

  /** Ends it. Sessions and turns go on. */
  close(): void {
    this.#closed = true;
    for (const session of this.#followed.keys()) this.#hub.turnSubscribers.remove(session, this.id);
    for (const feed of this.#feeds) this.shut(feed);
  }

  #see(direction: "in" | "out", message: JsonObject): void {
    const { id: peer, agent, principal } = this;
    const session = sessionNamedIn(message);
    this.#hub.tap?.({ edge: "client", direction, tenant: principal.tenant, session, peer, agent, message });
  }

  #seeAnswer(id: RequestId | null, answer: Promise<unknown>): void {
    answer.then(
      (result) => this.#see("out", { id, result }),
      (error: unknown) => this.#see("out", { id, error: RpcError.of(error).toWire() }),
    );
  }

  /** An outlet whose messages the tap sees. */
  #seen(outlet: Outlet): Outlet {
    return {
      send: (message, order, text) => {
        this.#see("out", message);
        return outlet.send(message, order, text);
      },
      failed: (error) => outlet.failed(error),
    };
  }

  #write(event: SessionMessage, session: string | undefined): void | Promise<void> {
    const { tenant } = this.principal;
    return this.#hub.log.append({ tenant, session: this.#hub.channelOf(this.id, session), ...event });
  }

  /** Asks a client that reconnects behind an open question, after everything before the question was sent. */
  async #putPending(feed: Feed): Promise<void> {
    const sessions = [...this.#followed.keys()].filter((session) => feed.covers(session));
    const pending = () => sessions.flatMap((session) => this.#hub.live(session)?.clients.questions ?? []);
    for (const session of sessions) this.#hub.live(session)?.clients.returned(this.id);
    if (pending().length === 0) return;
    const { log } = this.#hub;
    await log.written();
    await feed.reached(log.last(this.principal.tenant));
    for (const { key } of feed.isClosed ? [] : pending()) feed.put(key);
  }

  #bring(feed: Feed, session: string, after: number): void {
    if (!feed.covers(session)) return;
    feed.add(session, after);
    feed.add(this.#hub.channelOf(this.id, session), after);
  }

  #settle(id: RequestId, settle: (clients: SessionClients, key: string) => Taken): Answered {
    const key = questionIn(id);
    if (key === undefined) return "unknown";
    const clients = this.#hub.asking(key);
    const { tenant, session = "" } = this.#hub.askedIn(key) ?? {};
    // A question of another tenant does not exist here.
    if (tenant !== this.principal.tenant) return "unknown";
    if (!this.#followed.has(session) || this.principal.kind === "agent") return "foreign";
    const { asked } = clients?.question(key) ?? {};
    if (asked && !asked(this.principal)) return "foreign";
    return clients ? settle(clients, key) : "late";
  }

  /** Replays everything that is stored of a session, and returns the position of the last message. */
  async #replayTo(feed: Feed, session: Session): Promise<number> {
    const { log } = this.#hub;
    const { tenant } = this.principal;
    await log.written();
    const until = await log.prunedUntil(tenant, session.id);
    if (until > 0) feed.gap(session.id, { after: 0, until, reason: "retention" });
    for (let after = until; ; ) {
      const page = await log.page(tenant, [session.id], after);
      for (const event of page) {
        if (feed.isClosed) throw closedDuringReplay();
        await feed.resend(event);
        after = event.order;
      }
      if (page.length > 0) continue;
      // Nothing is written between this look and following: neither is interrupted.
      if (session.lastOrder <= after) return after;
      // It came meanwhile, unless it has been forgotten meanwhile.
      after = Math.max(after, await log.prunedUntil(tenant, session.id));
    }
  }

  /** Replays a session that was loaded before there was a feed; from its beginning, if an earlier replay was cut off. */
  async #replayLater(feed: Feed, session: Session): Promise<void> {
    let after: number;
    try {
      after = await this.#replayTo(feed, session);
    } catch (error) {
      if (feed.isClosed) return;
      throw error;
    }
    if (this.#unreplayed.delete(session.id)) feed.add(session.id, after);
  }
}

function closedDuringReplay(): RpcError {
  return new RpcError(
    CODE.internal,
    "the stream was closed before the end of the replay; open it, then load again",
  );
}
