import { CANCEL_REQUEST, CODE, type JsonObject, RpcError } from "@reins/acp";
import { LruCache } from "@reins/kit";
import type { Principal } from "@reins/supervisor";
import { clientOffers } from "../governor/known-methods.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Cursor, Gap, LoggedEvent } from "../log/logged-event.ts";
import type { Subscription } from "../log/subscription.ts";
import type { Session } from "../sessions/session.ts";
import { type OpenQuestion, questionId } from "../sessions/session-clients.ts";

const CONNECTION = "connection:";

/** The channel of the log with what is for one connection alone: of a session, or of none. */
export function channelOf(connection: string, session?: string): string {
  return session === undefined ? `${CONNECTION}${connection}` : `${CONNECTION}${connection}:${session}`;
}

/** Notifies a subscriber that a turn of a session has begun or ended, and of the current state when it attaches. */
export const TURN = "_reins/session/turn";

/** Where the messages for a client go. */
export interface Outlet {
  /**
   * Sends a message; `order` is its position in the log, if it has one, and `text` the message as JSON, if that is known. A
   * promise says that there is no room for more.
   */
  send(message: JsonObject, order: number | undefined, text?: string): void | Promise<void>;
  /** Called when the log cannot be followed any more. */
  failed(error: unknown): void;
}

/** The client that a feed is for. */
interface FeedReader {
  readonly id: string;
  readonly principal: Principal;
  readonly followsTurns: boolean;
  /** The capabilities that its client declared. */
  readonly capabilities: JsonObject;
}

export interface FeedOptions {
  readonly log: EventLog;
  readonly reader: FeedReader;
  readonly outlet: Outlet;
  /** Up to where the reader has seen the log. */
  readonly from: Cursor;
  /** The only session whose messages it carries; all that the reader follows if absent, of none if null. */
  readonly session?: string | null | undefined;
  /** A question that still waits. */
  readonly question: (key: string) => OpenQuestion | undefined;
}

/** Notifies a client of messages that are lost or pruned. */
export const GAP = "_reins/gap";
/** How many questions are remembered, so that none is put twice. */
const MOST_ASKED = 1_000;

/** A message as it goes over the wire. */
interface Wired {
  readonly message: JsonObject;
  readonly text: string | undefined;
}

/** The last message in its wire form: every reader gets one message before any gets the next. */
let wired: { readonly from: JsonObject; readonly made: Wired } | undefined;

/** The messages of sessions to one client, in the order of the log and at the client's own pace. */
export class Feed {
  readonly #options: FeedOptions;
  readonly #subscription: Subscription;
  readonly #asked = new LruCache<string, true>({ entries: MOST_ASKED });
  #closed = false;

  constructor(options: FeedOptions) {
    const { log, reader, outlet, from } = options;
    this.#options = options;
    this.#subscription = log.subscribe(
      {
        tenant: reader.principal.tenant,
        event: (event) => this.#deliver(event, event.order),
        gap: (session, gap) => this.gap(session, gap),
        failed: (error) => outlet.failed(error),
      },
      from,
    );
  }

  /** The position of the last message that was sent. */
  get position(): number {
    return this.#subscription.position;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether it carries the messages of a session, or of none. */
  covers(session: string | undefined): boolean {
    const only = this.#options.session;
    return only === undefined || only === session;
  }

  /** Adds a channel of the log, after a position. */
  add(channel: string, after: number): void {
    this.#subscription.add(channel, Math.max(after, this.position));
  }

  remove(channel: string): void {
    this.#subscription.remove(channel);
  }

  /** Sends that messages of a session are lost. */
  gap(session: string, gap: Gap): void {
    if (!session.startsWith(CONNECTION)) void this.#options.outlet.send(gapMessage(session, gap), undefined);
  }

  /** Sends a message that is not logged. */
  sendUnlogged(message: JsonObject): void {
    void this.#options.outlet.send({ jsonrpc: "2.0", ...message }, undefined);
  }

  /**
   * Replays everything that is stored of a session, and returns the position of the last message. What was sent to this
   * client alone since a position (`own`) comes at its place among it.
   */
  async replay(session: Pick<Session, "id" | "lastOrder">, own = Number.POSITIVE_INFINITY): Promise<number> {
    const { log, reader } = this.#options;
    const channel = channelOf(reader.id, session.id);
    const { tenant } = reader.principal;
    await log.written();
    const until = await log.prunedUntil(tenant, session.id);
    if (until > 0) this.gap(session.id, { after: 0, until, reason: "retention" });
    for (let after = until; ; ) {
      const page = await log.page(tenant, [session.id, channel], after);
      for (const event of page) {
        if (this.#closed) throw closedDuringReplay();
        if (event.session === session.id) await this.#resend(event);
        else if (event.order > own) await this.#deliver(event, this.position);
        after = event.order;
      }
      if (page.length > 0) continue;
      // Nothing is written between this look and following: neither is interrupted.
      if (Math.max(session.lastOrder, log.lastOf(tenant, channel)) <= after) return after;
      // It came meanwhile, unless it has been forgotten meanwhile.
      for (const one of [session.id, channel]) after = Math.max(after, await log.prunedUntil(tenant, one));
    }
  }

  /** Puts an open question, unless it was put here before: it may be older than the start of the feed. */
  put(key: string): void {
    const asked = this.#question(key);
    if (asked) void this.#options.outlet.send(asked, this.position);
  }

  /** Whether a message up to a position may still have to be sent. */
  isBehind(order: number): boolean {
    return this.#subscription.isBehind(order);
  }

  /** Settles when everything up to a position was sent. */
  reached(order: number): Promise<void> {
    return this.#subscription.reached(order);
  }

  /** Ends it. */
  close(): void {
    this.#closed = true;
    this.#subscription.close();
  }

  /** Sends a logged message again, at the position that the stream has reached. */
  async #resend(event: LoggedEvent): Promise<void> {
    if (event.message.method !== CANCEL_REQUEST) await this.#deliver(event, this.position, true);
  }

  #deliver(event: LoggedEvent, order: number, isAgain = false): void | Promise<void> {
    const { request, except } = event;
    const { reader, outlet } = this.#options;
    // A client's own messages are sent back only in a replay.
    if (except === reader.id && !isAgain) return;
    if (event.message.method === TURN && !reader.followsTurns) return;
    if (request === undefined) {
      const { message, text } = wire(event);
      return outlet.send(message, order, text);
    }
    const asked = this.#question(request);
    if (asked) return outlet.send(asked, order);
  }

  /** A question as this reader is asked it; undefined for one that is settled, or of an earlier process. */
  #question(key: string): JsonObject | undefined {
    const { reader, question } = this.#options;
    const asked = question(key);
    if (!asked || this.#asked.get(key) || !mayAnswer(reader, asked)) return undefined;
    const { method, params, asked: askedOf } = asked;
    const own = askedOf ? askedOf(reader) : params;
    if (!own) return undefined;
    this.#asked.set(key, true);
    return { jsonrpc: "2.0", id: questionId(key), method, params: own };
  }
}

/** Whether a reader is asked a question: only what its client offered to answer. */
function mayAnswer(
  { id, principal, capabilities }: FeedReader,
  { method, params, without, only = id }: OpenQuestion,
): boolean {
  const isMeant = only === id && principal.kind !== "agent" && !without.has(principal.id);
  return isMeant && clientOffers(capabilities, method, params);
}

function wire({ message, text }: LoggedEvent): Wired {
  if (wired?.from === message) return wired.made;
  const made = {
    message: { jsonrpc: "2.0", ...message },
    text: text === undefined ? undefined : `{"jsonrpc":"2.0",${text.slice(1)}`,
  };
  wired = { from: message, made };
  return made;
}

function gapMessage(sessionId: string, gap: Gap): JsonObject {
  return { jsonrpc: "2.0", method: GAP, params: { sessionId, ...gap } };
}

function closedDuringReplay(): RpcError {
  return new RpcError(
    CODE.internal,
    "the stream was closed before the end of the replay; open it, then load again",
  );
}
