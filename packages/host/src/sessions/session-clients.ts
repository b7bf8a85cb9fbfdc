import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, type RequestId, RpcError } from "@reins/acp";
import { LruCache } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import type { AskedOf, ClientAnswer, Clients, RequestOptions } from "../control/ask-clients.ts";
import { PERMISSION, readChoice, redactedQuestion } from "../control/permission-request.ts";
import { clientOffers } from "../governor/known-methods.ts";
import type { HubContext } from "../hub/context.ts";
import type { NewEvent } from "../log/logged-event.ts";
import type { SessionRecord } from "./session-record.ts";

/** An open question to the clients of a session. */
export interface OpenQuestion {
  readonly key: string;
  readonly method: string;
  /** Exactly as asked; the log has them without secrets. */
  readonly params: JsonObject;
  /** The principals that it is not put to, because they have answered. */
  readonly without: ReadonlySet<string>;
  /** How each of the clients is asked, where that is not the same for all. */
  readonly asked?: AskedOf | undefined;
  /** The only connection that it is put to. */
  readonly only?: string | undefined;
}

interface Waiting extends OpenQuestion {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (reason: unknown) => void;
  /** The principal of the only connection that it is put to. */
  readonly principal: string | undefined;
  /** A connection of that principal that came after it was put. */
  readonly successor?: string | undefined;
  /** The connections that chose nothing, each with what settles the question if no other connection is left. */
  readonly declined: Map<string, Settle>;
}

type Settle = (waiting: Waiting) => void;

/** A connection that can be asked. */
export interface Askable {
  readonly id: string;
  readonly principal: ClientAnswer["by"];
  /** The capabilities that its client declared. */
  readonly capabilities: JsonObject;
  /** Puts a question to it alone. */
  ask(session: string, request: string, message: JsonObject): Promise<void>;
  /** Sends it a message that no other client gets. */
  send(message: JsonObject, session?: string): Promise<void>;
}

/**
 * What became of an answer: it settled the question; it chose nothing, and the question stays open for other clients; it
 * names an option that was never offered, and changes nothing; or it came late.
 */
export type Taken = "first" | "left" | "not_offered" | "late";

const NO_PRINCIPALS: ReadonlySet<string> = new Set();

/** A message for the session's log. */
export type SessionMessage = Omit<NewEvent, "tenant" | "session">;

/** What its clients need of a session. */
interface AskingSession {
  readonly id: string;
  readonly record: Pick<SessionRecord, "tenant" | "principal">;
  /** The connection whose prompt is running. */
  readonly prompting: string | undefined;
  /** Adds a message of its agent to its log. A promise is to be waited for. */
  appendFromAgent(event: SessionMessage): void | Promise<void>;
  /** Logs the entry of a turn that is over. Settles when it is written. */
  turnOver(draft: Draft): Promise<void>;
}

/** What they need of the hub. */
interface AskingHub {
  readonly harness: Pick<HubContext["harness"], "redact">;
  readonly sessions: { readonly asking: AskedQuestions };
  readonly onError: HubContext["onError"];
  present(session: string): readonly Askable[];
  /** Whether a connection has not ended. */
  isConnected(connection: string): boolean;
}

/**
 * The clients of a session, however many there are: messages to them go through its log, and of their answers to a
 * question the first counts.
 */
export class SessionClients implements Clients {
  readonly #session: AskingSession;
  readonly #hub: AskingHub;
  readonly #waiting = new Map<string, Waiting>();

  constructor(session: AskingSession, hub: AskingHub) {
    this.#session = session;
    this.#hub = hub;
  }

  /** The id of their session. */
  get session(): string {
    return this.#session.id;
  }

  get tenant(): string {
    return this.#session.record.tenant;
  }

  notify(method: string, params: JsonObject): void | Promise<void> {
    return this.#session.appendFromAgent({ message: { method, params } });
  }

  concluded(draft: Draft): Promise<void> {
    return this.#session.turnOver(draft);
  }

  async request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    { without = NO_PRINCIPALS, asked, only }: RequestOptions = {},
  ): Promise<ClientAnswer> {
    signal.throwIfAborted();
    if (only === undefined && this.#isUnserved(method, params)) throw unserved(method);
    const key = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
    // It may be withdrawn before there was room to ask it, and is waited for only then.
    promise.catch(() => undefined);
    const target = only === undefined ? undefined : this.#present().find(({ id }) => id === only);
    const question = { key, method, params, without, asked, only, principal: target?.principal.id };
    this.#waiting.set(key, { ...question, resolve, reject, declined: new Map() });
    this.#hub.sessions.asking.set(key, this);
    const withdraw = () => this.#settle(key, undefined, (waiting) => waiting.reject(signal.reason));
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      if (only === undefined) {
        const message = { method, params: redactedQuestion(params, this.#hub.harness.redact) };
        await this.#session.appendFromAgent({ message, request: key });
      } else {
        await target?.ask(this.session, key, unloggedContent(method, params));
      }
      return await promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#settle(key, undefined, () => undefined);
    }
  }

  /**
   * Handles the answer of a connection. One that chooses none of the options leaves the question to the other clients; where
   * there are none, or the connection whose prompt is under way cancels, it settles the question.
   */
  answer(key: string, connection: string, answer: ClientAnswer): Taken {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    const settle: Settle = ({ resolve }) => resolve(answer);
    const choice = waiting.method === PERMISSION ? readChoice(waiting.params, answer.value) : "chosen";
    if (choice === "not_offered") return "not_offered";
    const isFinal = choice === "chosen" || (choice === "cancelled" && connection === this.#session.prompting);
    return isFinal ? this.#settle(key, connection, settle) : this.#decline(waiting, connection, settle);
  }

  /** Handles an error as an answer, which leaves the question to the other clients while there are any. */
  fail(key: string, connection: string, error: RpcError, by: ClientAnswer["by"]): Taken {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    // A permission request waits for a choice, and no choice denies; for any other request, the agent gets the error.
    const settle: Settle = ({ method, resolve, reject }) =>
      method === PERMISSION ? resolve({ value: undefined, by }) : reject(error);
    return this.#decline(waiting, connection, settle);
  }

  /** Settles a question with an answer that was given elsewhere, whatever it chooses. */
  settle(key: string, answer: ClientAnswer): void {
    this.#settle(key, undefined, ({ resolve }) => resolve(answer));
  }

  whoServes(method: string, params: JsonObject): string | undefined {
    const { prompting, record } = this.#session;
    const able = this.#present().filter(({ capabilities }) => clientOffers(capabilities, method, params));
    const found =
      able.find(({ id }) => id === prompting) ??
      able.find(({ principal }) => principal.id === record.principal);
    return found?.id;
  }

  /**
   * A connection is asked anew what it chose nothing for, and what waits for a connection of its principal that has ended:
   * its client has reconnected.
   */
  returned(connection: string): void {
    for (const { declined } of this.#waiting.values()) declined.delete(connection);
    this.#takeOver(connection);
    for (const { key, method, params, only } of [...this.#waiting.values()])
      if (only === undefined && this.#isUnserved(method, params))
        this.#settle(key, undefined, ({ reject }) => reject(unserved(method)));
  }

  /** A connection has ended, and its client may reconnect, or has done so before that was noticed. */
  ended(connection: string): void {
    for (const { only, successor } of [...this.#waiting.values()])
      if (only === connection && successor !== undefined) this.#takeOver(successor);
  }

  /** A connection has gone. A question to it alone, or to which all that are left chose nothing, is settled. */
  left(connection: string): void {
    for (const waiting of [...this.#waiting.values()]) {
      const { key, method, params, only } = waiting;
      if (only === connection || (only === undefined && this.#isUnserved(method, params))) {
        const error = only === connection ? gone() : unserved(method);
        this.#settle(key, connection, ({ reject }) => reject(error));
        continue;
      }
      waiting.declined.delete(connection);
      const [[last, settle] = []] = [...waiting.declined].reverse();
      // Without clients it waits: the next one that attaches is asked.
      if (settle && this.#present().length > 0 && !this.#isLeftToOthers(waiting))
        this.#settle(waiting.key, last, settle);
    }
  }

  /** A question, if it still waits. */
  question(key: string): OpenQuestion | undefined {
    return this.#waiting.get(key);
  }

  /** The questions that wait, the oldest first. */
  get questions(): readonly OpenQuestion[] {
    return [...this.#waiting.values()];
  }

  #present(): readonly Askable[] {
    return this.#hub.present(this.session);
  }

  #decline(waiting: Waiting, connection: string, settle: Settle): Taken {
    waiting.declined.set(connection, settle);
    return this.#isLeftToOthers(waiting) ? "left" : this.#settle(waiting.key, connection, settle);
  }

  #isLeftToOthers({ method, params, declined, without, asked, only }: Waiting): boolean {
    if (only !== undefined) return !declined.has(only);
    return this.#present().some(
      ({ id, principal, capabilities }) =>
        clientOffers(capabilities, method, params) &&
        !declined.has(id) &&
        !without.has(principal.id) &&
        (!asked || asked({ principal, capabilities }) !== undefined),
    );
  }

  /** Whether there are clients, and none of them offers to answer a request. */
  #isUnserved(method: string, params: JsonObject): boolean {
    const present = this.#present();
    return (
      present.length > 0 && !present.some(({ capabilities }) => clientOffers(capabilities, method, params))
    );
  }

  /** Puts what waits for a connection that has ended to one that came after, if it is of the same principal. */
  #takeOver(connection: string): void {
    const next = this.#present().find(({ id }) => id === connection);
    if (!next) return;
    for (const waiting of [...this.#waiting.values()]) {
      const { key, method, params, only, principal } = waiting;
      if (only === undefined || only === connection) continue;
      if (principal !== next.principal.id || !clientOffers(next.capabilities, method, params)) continue;
      const isOver = !this.#hub.isConnected(only);
      this.#waiting.set(key, { ...waiting, ...(isOver ? { only: connection } : { successor: connection }) });
      if (isOver) next.ask(this.session, key, unloggedContent(method, params)).catch(this.#hub.onError);
    }
  }

  /** Settles a question, and cancels it at the other clients. */
  #settle(key: string, connection: string | undefined, settle: Settle): "first" | "late" {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    this.#waiting.delete(key);
    this.#hub.sessions.asking.settle(key, this);
    settle(waiting);
    void this.#cancelAtClients(waiting, connection);
    return "first";
  }

  async #cancelAtClients({ key, only }: Waiting, connection: string | undefined): Promise<void> {
    if (only !== undefined && only === connection) return;
    const asked = this.#present().find(({ id }) => id === only);
    try {
      if (only === undefined)
        await this.#session.appendFromAgent({ message: cancelOf(key), except: connection });
      else await asked?.send(cancelOf(key), this.session);
    } catch (error) {
      this.#hub.onError(error);
    }
  }
}

/** A request to one connection as it is logged: without the content of a file that is written. */
function unloggedContent(method: string, params: JsonObject): JsonObject {
  return { method, params: { ...params, content: undefined } };
}

/** The error for an agent that requests what no client offers. */
function unserved(method: string): RpcError {
  return new RpcError(CODE.methodNotFound, `no client of the session offers "${method}"`);
}

function gone(): RpcError {
  return new RpcError(CODE.internal, "the client that was asked has gone");
}

/** The message that cancels a question at clients. */
export function cancelOf(key: string): JsonObject {
  return { method: "$/cancel_request", params: { requestId: questionId(key) } };
}

const PATTERN = /^reins-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The id of a question on the wire: the same for all clients, also after they reconnect. */
export function questionId(key: string): string {
  return `reins-${key}`;
}

/** The key of the question with an id, if it is one of ours. */
export function questionIn(id: RequestId): string | undefined {
  return typeof id === "string" ? PATTERN.exec(id)?.[1] : undefined;
}

/** How many settled questions are remembered, so that a late answer differs from one to no question. */
const MOST_SETTLED = 10_000;

/** Where a question was asked. */
export interface AskedIn {
  readonly session: string;
  readonly tenant: string;
}

/** The questions of all sessions: the open ones, and where those were asked that were settled lately. */
export class AskedQuestions {
  readonly #waiting = new Map<string, SessionClients>();
  readonly #settled = new LruCache<string, AskedIn>({ entries: MOST_SETTLED });

  /** The clients that an open question was put to. */
  get(key: string): SessionClients | undefined {
    return this.#waiting.get(key);
  }

  set(key: string, asker: SessionClients): void {
    this.#waiting.set(key, asker);
  }

  settle(key: string, { session, tenant }: AskedIn): void {
    this.#waiting.delete(key);
    this.#settled.set(key, { session, tenant });
  }

  /** Where a question was asked, also one that was settled. */
  askedIn(key: string): AskedIn | undefined {
    return this.#waiting.get(key) ?? this.#settled.get(key);
  }
}
