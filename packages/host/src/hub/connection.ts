import {
  CANCEL_REQUEST,
  CODE,
  type JsonObject,
  membersOf,
  type RequestId,
  RpcError,
  readParams,
} from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import { askedFor } from "../control/ask-clients.ts";
import type { Descent } from "../control/scope.ts";
import type { Cursor } from "../log/logged-event.ts";
import type { Session } from "../sessions/session.ts";
import {
  questionIn,
  type SessionClients,
  type SessionMessage,
  type Taken,
} from "../sessions/session-clients.ts";
import { sessionNamedIn } from "../wire/agent-channel.ts";
import type { ConnectionOptions } from "./context.ts";
import { channelOf, Feed, type Outlet } from "./feed.ts";
import type { Hub } from "./hub.ts";

/** What became of an answer: `unknown` answers no question of this tenant, `foreign` one that was put to others. */
export type Answered = Taken | "unknown" | "foreign";

/** One client, whatever its transport: the sessions it follows, and the feeds that bring their messages. */
export class Connection {
  readonly id: string;
  agent: string | undefined;
  /** Whether its client subscribes to the turns of the sessions that it follows. */
  followsTurns: boolean;
  /** The capabilities that its client declared. */
  capabilities: JsonObject;
  /** The limits of new sessions, where another session starts them. */
  readonly descent: Descent | undefined;
  /** When new sessions were requested, where they waited for their agent. */
  readonly begun: Date | undefined;
  readonly #hub: Hub;
  readonly #arrival: number | undefined;
  readonly #onFollow: () => void;
  readonly #feeds = new Set<Feed>();
  /** The sessions it follows, and the position in the log from which it follows each. */
  readonly #followed = new Map<string, number>();
  /** The sessions that are replayed on the next feed. */
  readonly #unreplayed = new Map<string, Session>();
  /** The replays under way that waited for a feed. */
  readonly #replaying = new Map<string, Promise<void>>();
  #principal: Principal;
  #closed = false;
  /** Whether it ever had a feed; what prompts from within Reins may not. */
  #hasListened = false;

  constructor(hub: Hub, options: ConnectionOptions) {
    this.id = options.id;
    this.capabilities = options.capabilities ?? {};
    this.followsTurns = options.followsTurns ?? false;
    this.agent = options.agent;
    this.descent = options.descent;
    this.begun = options.begun;
    this.#arrival = options.arrival;
    this.#principal = options.principal;
    this.#hub = hub;
    this.#onFollow = options.onFollow ?? (() => undefined);
  }

  /** The client's principal, as of its last request. */
  get principal(): Principal {
    return this.#principal;
  }

  /** Updates what is known of the same principal. */
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

  /** Opens a feed to an outlet: of one session, of none (null), or of all that it follows. */
  open(outlet: Outlet, from: Cursor, session?: string | null): Feed {
    const { log } = this.#hub;
    const question = (key: string) => this.#hub.asking(key)?.question(key);
    const seen = this.#hub.tap ? this.#seen(outlet) : outlet;
    const feed = new Feed({ log, reader: this, outlet: seen, from, session, question });
    if (typeof session !== "string") feed.add(channelOf(this.id), from.order);
    this.#feeds.add(feed);
    for (const [followed, after] of this.#followed) {
      const unreplayed = feed.covers(followed) ? this.#unreplayed.get(followed) : undefined;
      if (unreplayed) {
        const replaying = this.#replayLater(feed, unreplayed, after)
          .catch((error: unknown) => outlet.failed(error))
          .finally(() => this.#replaying.delete(followed));
        this.#replaying.set(followed, replaying);
      } else this.#bring(feed, followed, Math.max(after, from.order));
    }
    this.#hasListened = true;
    this.#putPending(feed).catch((error: unknown) => outlet.failed(error));
    return feed;
  }

  /** Whether its client can be asked about a session: it reads its messages, or waits for the end of its own turn. */
  canBeAsked(session: string, prompting: string | undefined): boolean {
    if (!this.#followed.has(session) || this.principal.kind === "agent") return false;
    if (prompting === this.id && this.#hasListened) return true;
    return [...this.#feeds].some((feed) => feed.covers(session));
  }

  /** Closes a feed. */
  shut(feed: Feed): void {
    feed.close();
    this.#feeds.delete(feed);
  }

  /** Handles the client's request; `id` is the one that it came with, where that is known here. */
  request(method: string, params: unknown, signal: AbortSignal, id?: RequestId): Promise<unknown> {
    if (this.#hub.tap) this.#see("in", { id: id ?? null, method, params });
    const answer = this.#hub.request(this, method, membersOf(params), signal, this.#arrival);
    if (this.#hub.tap) this.#seeAnswer(id ?? null, answer);
    return answer;
  }

  /** Handles the client's notification. */
  notification(method: string, params: unknown): Promise<void> {
    if (this.#hub.tap) this.#see("in", { method, params });
    return this.#hub.notification(this, method, membersOf(params));
  }

  /** Handles the client's answer to a question. */
  answer(id: RequestId, value: unknown): Answered {
    const by = this.principal;
    if (this.#hub.tap) this.#see("in", { id, result: value });
    return this.#settle(id, (clients, key) => clients.answer(key, this.id, { value, by }));
  }

  /** Handles an answer that has no response: an option that was not offered counts as no choice. */
  take(id: RequestId, value: unknown): void {
    if (this.answer(id, value) !== "not_offered") return;
    this.fail(id, { code: CODE.invalidParams, message: "the option was not offered" });
  }

  /** Handles an error of the client as its answer. */
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

  /** Subscribes to the turns of a session, if the client subscribes to turns. */
  subscribeTurns(session: string): void {
    if (this.followsTurns && this.#followed.has(session)) this.#hub.turns.subscribe(this, session);
  }

  /**
   * Follows a session after a replay of all of it that is stored, without a gap between the two. Without a feed, the
   * replay waits for one.
   */
  async replay(session: Session): Promise<void> {
    // What it was asked stays asked: it has not left.
    this.#unfollow(session.id);
    const feed = [...this.#feeds].find((one) => one.covers(session.id));
    try {
      if (feed) return this.attach(session, await feed.replay(session));
    } catch (error) {
      this.#hub.live(session.id)?.clients.left(this.id);
      throw error;
    }
    this.attach(session, session.lastOrder);
    this.#unreplayed.set(session.id, session);
  }

  /** Stops following a session. */
  detach(session: string): boolean {
    if (!this.#unfollow(session)) return false;
    this.#hub.live(session)?.clients.left(this.id);
    this.#onFollow();
    return true;
  }

  /** Sends a message to this client only, through the log: on the feed of a session, or on the one for all else. */
  send(message: JsonObject, session?: string): Promise<void> {
    return this.#write({ message: membersOf(this.#hub.harness.redact(message)) }, session);
  }

  /** Sends this client, if it follows a session, a message that is not logged. */
  sendUnlogged(session: string, message: JsonObject): void {
    if (!this.#followed.has(session)) return;
    for (const feed of this.#feeds) if (feed.covers(session)) feed.sendUnlogged(message);
  }

  /** Logs a request of this client, so that a later process can answer it. */
  note(message: JsonObject, session?: string): Promise<void> {
    return this.#write({ message, except: this.id }, session);
  }

  /** Asks this client a question that others were asked before it attached. */
  ask(session: string, request: string, message: JsonObject): Promise<void> {
    return this.#write({ message: membersOf(this.#hub.harness.redact(message)), request }, session);
  }

  /** Settles when every message of a session's last turn has been sent to the streams that are open. */
  async caughtUp({ id, written }: Pick<Session, "id" | "written">): Promise<void> {
    const { log } = this.#hub;
    await written;
    await this.#replaying.get(id);
    const last = log.last(this.principal.tenant);
    for (const feed of this.#feeds) if (feed.isBehind(last)) await feed.reached(last);
  }

  /** Ends it. Sessions and turns go on. */
  close(): void {
    this.#closed = true;
    for (const session of this.#followed.keys()) this.#hub.turns.unsubscribe(this.id, session);
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

  async #write(event: SessionMessage, session: string | undefined): Promise<void> {
    const { tenant } = this.principal;
    await this.#hub.log.append({ tenant, session: channelOf(this.id, session), ...event });
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
    feed.add(channelOf(this.id, session), after);
  }

  #unfollow(session: string): boolean {
    this.#unreplayed.delete(session);
    if (!this.#followed.delete(session)) return false;
    this.#hub.turns.unsubscribe(this.id, session);
    for (const feed of this.#feeds) {
      feed.remove(session);
      feed.remove(channelOf(this.id, session));
    }
    return true;
  }

  #settle(id: RequestId, settle: (clients: SessionClients, key: string) => Taken): Answered {
    const key = questionIn(id);
    if (key === undefined) return "unknown";
    const clients = this.#hub.asking(key);
    const { tenant, session = "" } = this.#hub.sessions.asking.askedIn(key) ?? {};
    // A question of another tenant does not exist here.
    if (tenant !== this.principal.tenant) return "unknown";
    if (!this.#followed.has(session) || this.principal.kind === "agent") return "foreign";
    const { asked, only = this.id } = clients?.question(key) ?? {};
    if (only !== this.id || (asked && !asked(this))) return "foreign";
    return clients ? settle(clients, key) : "late";
  }

  /** Replays a session that was loaded before there was a feed; from its beginning, if an earlier replay was cut off. */
  async #replayLater(feed: Feed, session: Session, since: number): Promise<void> {
    let after: number;
    try {
      after = await feed.replay(session, since);
    } catch (error) {
      if (feed.isClosed) return;
      throw error;
    }
    if (this.#unreplayed.delete(session.id)) this.#bring(feed, session.id, after);
  }
}

/** The most requests of one client in progress at once. */
const MOST_UNDER_WAY = 256;

/** The requests of one client: each is answered with the id it came with, and can be cancelled. */
export class Conversation {
  readonly #connection: Connection;
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #underWay = new Set<AbortController>();
  #gone: { readonly reason: unknown } | undefined;

  /** `gone` aborts when the client is gone. */
  constructor(connection: Connection, gone: AbortSignal) {
    this.#connection = connection;
    const end = () => {
      this.#gone = gone;
      for (const controller of this.#underWay) controller.abort(gone.reason);
    };
    if (gone.aborted) end();
    else gone.addEventListener("abort", end, { once: true });
  }

  /** How many requests have no response yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** How often people were asked for a request, and whether a question is open. */
  askedFor(id: RequestId): ReturnType<typeof askedFor> {
    const { signal } = this.#answering.get(id) ?? {};
    return signal ? askedFor(signal) : { times: 0, isOpen: false };
  }

  /** Answers a request. Never rejects: an error becomes an error response. */
  async ask(id: RequestId, method: string, params: unknown): Promise<JsonObject> {
    if (this.#underWay.size >= MOST_UNDER_WAY)
      return failure(
        id,
        new RpcError(CODE.invalidRequest, `${MOST_UNDER_WAY} requests are under way already`),
      );
    const controller = new AbortController();
    this.#answering.set(id, controller);
    this.#underWay.add(controller);
    if (this.#gone) controller.abort(this.#gone.reason);
    try {
      const result = await this.#connection.request(method, params, controller.signal, id);
      return { jsonrpc: "2.0", id, result: result ?? null };
    } catch (error) {
      return failure(id, error);
    } finally {
      this.#underWay.delete(controller);
      if (this.#answering.get(id) === controller) this.#answering.delete(id);
    }
  }

  /** Handles a notification. Rejects if that fails. */
  async notify(method: string, params: unknown): Promise<void> {
    if (method !== CANCEL_REQUEST) return this.#connection.notification(method, params);
    const { requestId } = readParams(CANCEL_REQUEST, params);
    if (requestId !== undefined)
      this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was cancelled"));
  }
}

function failure(id: RequestId, error: unknown): JsonObject {
  return { jsonrpc: "2.0", id, error: RpcError.of(error).toWire() };
}
