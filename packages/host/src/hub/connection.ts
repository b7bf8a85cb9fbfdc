import type { Principal } from "@reins/supervisor";
import { type JsonObject, membersOf, type RequestId } from "../acp/message.ts";
import { RpcError } from "../acp/rpc-error.ts";
import type { Cursor, Gap, LoggedEvent } from "../log/logged-event.ts";
import type { Subscription } from "../log/subscription.ts";
import type { Hub } from "./hub.ts";
import type { LiveSession } from "./live-session.ts";

/** Where the messages for a client go. */
export interface Outlet {
  /** Sends a message; `order` is its place in the log, if it has one. A promise says that there is no room for more. */
  send(message: JsonObject, order: number | undefined): void | Promise<void>;
  /** Told when nothing more will come, because the log cannot be followed. */
  failed(error: unknown): void;
}

/** How a connection is made. */
export interface ConnectionOptions {
  readonly id: string;
  readonly principal: Principal;
  /** The agent of new sessions that name none. */
  readonly agent?: string | undefined;
  readonly outlet: Outlet;
  /** For one that comes back: up to where it has seen the log. */
  readonly from: Cursor;
}

interface Asked {
  readonly session: LiveSession;
  readonly key: string;
}

/** The name of a notification that says which messages cannot be had any more. */
export const GAP = "_reins/gap";

/** One client, however it is connected: the sessions it follows, and the questions it was asked. */
export class Connection {
  readonly id: string;
  readonly principal: Principal;
  agent: string | undefined;
  readonly #hub: Hub;
  readonly #outlet: Outlet;
  readonly #subscription: Subscription;
  readonly #asked = new Map<RequestId, Asked>();
  readonly #attached = new Map<string, { readonly session: LiveSession; readonly stop: () => void }>();
  #next = 1;

  constructor(hub: Hub, { id, principal, agent, outlet, from }: ConnectionOptions) {
    this.id = id;
    this.principal = principal;
    this.agent = agent;
    this.#hub = hub;
    this.#outlet = outlet;
    this.#subscription = hub.log.subscribe(
      {
        tenant: principal.tenant,
        event: (event) => this.#deliver(event, event.order),
        gap: (session, gap) => void this.#outlet.send(gapMessage(session, gap), undefined),
        failed: (error) => outlet.failed(error),
      },
      from,
    );
  }

  /** The place of the last message that was sent. */
  get position(): number {
    return this.#subscription.position;
  }

  /** The sessions it follows. */
  get sessions(): readonly string[] {
    return [...this.#attached.keys()];
  }

  /** Asks, as the client's request. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    return this.#hub.request(this, method, membersOf(params), signal);
  }

  /** Takes the client's notification. */
  notification(method: string, params: unknown): Promise<void> {
    return this.#hub.notification(this, method, membersOf(params));
  }

  /** Takes the client's answer; whether it was asked that, and was the first to answer. */
  answer(id: RequestId, value: unknown): "first" | "late" | "unknown" {
    return this.#settle(id, ({ session, key }) =>
      session.clients.answer(key, this.id, { value, by: this.principal }),
    );
  }

  /** Takes the client's error for an answer. */
  fail(id: RequestId, error: unknown): "first" | "late" | "unknown" {
    return this.#settle(id, ({ session, key }) => session.clients.fail(key, this.id, RpcError.read(error)));
  }

  /** Follows a session from now on, or from a place that is not before what was sent. */
  attach(session: LiveSession, after?: number): void {
    if (this.#attached.has(session.id)) return;
    const stop = session.clients.onSettled((key, by) => this.#withdraw(session, key, by));
    this.#attached.set(session.id, { session, stop });
    this.#subscription.add(session.id, after);
  }

  /** Follows a session after telling all of it that is kept, without a gap between the two. */
  async replay(session: LiveSession): Promise<void> {
    const { tenant } = this.principal;
    await this.#hub.log.flush();
    for (let after = 0; ; ) {
      const page = await this.#hub.log.page(tenant, [session.id], after);
      for (const event of page) {
        await this.#deliver(event, undefined);
        after = event.order;
      }
      // Nothing is written between the last look and following: neither is interrupted.
      if (page.length === 0 && session.lastOrder <= after) break;
    }
    this.attach(session);
  }

  /** Follows a session no more. */
  detach(session: string): boolean {
    const attached = this.#attached.get(session);
    if (!attached) return false;
    attached.stop();
    this.#attached.delete(session);
    this.#subscription.remove(session);
    return true;
  }

  /** Settles when everything that was written by now has been sent. */
  async caughtUp(): Promise<void> {
    const { order } = await this.#hub.log.end(this.principal.tenant);
    await this.#subscription.reached(order);
  }

  /** Ends it. Sessions and turns go on. */
  close(): void {
    for (const session of this.sessions) this.detach(session);
    this.#subscription.close();
    this.#asked.clear();
  }

  #deliver(
    { session: id, message, request, except }: LoggedEvent,
    order: number | undefined,
  ): void | Promise<void> {
    if (except === this.id && order !== undefined) return;
    if (request === undefined) return this.#outlet.send({ jsonrpc: "2.0", ...message }, order);
    const session = this.#hub.live(id);
    // One that is settled, or of an earlier run, is a question to nobody; an agent is never asked.
    if (!session?.clients.question(request) || this.principal.kind === "agent") return;
    const requestId = `reins-${this.#next++}`;
    this.#asked.set(requestId, { session, key: request });
    return this.#outlet.send({ jsonrpc: "2.0", id: requestId, ...message }, order);
  }

  #settle(id: RequestId, settle: (asked: Asked) => boolean): "first" | "late" | "unknown" {
    const asked = this.#asked.get(id);
    if (!asked) return typeof id === "string" && this.#wasAsked(id) ? "late" : "unknown";
    this.#asked.delete(id);
    return settle(asked) ? "first" : "late";
  }

  /** Whether an id is one that this connection gave to a question before. */
  #wasAsked(id: string): boolean {
    const number = /^reins-(\d+)$/.exec(id)?.[1];
    return number !== undefined && Number(number) < this.#next;
  }

  #withdraw(session: LiveSession, key: string, by: string | undefined): void {
    for (const [id, asked] of this.#asked) {
      if (asked.session !== session || asked.key !== key || by === this.id) continue;
      this.#asked.delete(id);
      void this.#outlet.send(
        { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } },
        undefined,
      );
    }
  }
}

function gapMessage(sessionId: string, gap: Gap): JsonObject {
  return { jsonrpc: "2.0", method: GAP, params: { sessionId, ...gap } };
}
