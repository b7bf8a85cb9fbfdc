import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, RpcError } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import type { AskedOf, ClientAnswer, Clients, RequestOptions } from "../control/ask-clients.ts";
import { PERMISSION, readChoice, redactedQuestion } from "../control/permission-request.ts";
import { clientOffers } from "../governor/known-methods.ts";
import type { NewEvent } from "../log/logged-event.ts";
import { TURN_OVER } from "./channels.ts";
import { type AskedQuestions, questionId } from "./questions.ts";

/** An open question to the clients of a session. */
export interface OpenQuestion {
  readonly key: string;
  readonly method: string;
  /** Exactly as asked; the log has them without secrets. */
  readonly params: JsonObject;
  /** The principals that it is not put to, because they have no more to say to it. */
  readonly without: ReadonlySet<string>;
  /** How each of the clients is asked, where that is not the same for all. */
  readonly asked?: AskedOf | undefined;
  /** The only connection that it is put to. */
  readonly only?: string | undefined;
}

interface Waiting extends OpenQuestion {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (reason: unknown) => void;
  /** The connections that chose nothing, each with what settles the question if no other connection is left. */
  readonly declined: Map<string, Settle>;
}

type Settle = (waiting: Waiting) => void;

/** A connection that can be asked. */
export interface Askable {
  readonly id: string;
  readonly principal: ClientAnswer["by"];
  /** What its client said that it can do. */
  readonly capabilities: JsonObject;
  /** Puts a question to it alone. */
  ask(session: string, request: string, message: JsonObject): void | Promise<void>;
  /** Sends it a message that no other client gets. */
  send(message: JsonObject, session?: string): void | Promise<void>;
}

/**
 * What became of an answer: it settled the question; it chose nothing, and the question stays open for other clients; it
 * names an option that was never offered, and changes nothing; or it came late.
 */
export type Taken = "first" | "left" | "not_offered" | "late";

const NO_PRINCIPALS: ReadonlySet<string> = new Set();

/** A message for the session's log. */
export type SessionMessage = Omit<NewEvent, "tenant" | "session">;

export interface SessionClientsOptions {
  /** The id of the session. */
  readonly session: string;
  readonly tenant: string;
  /** The principal whose session it is. */
  readonly owner: string;
  /** Who asks the questions that wait, of all sessions. */
  readonly asking: AskedQuestions<SessionClients>;
  /** Adds a message to the session's log. A promise is to be waited for. */
  readonly append: (event: SessionMessage) => void | Promise<void>;
  /** Notes something about its turns in the log. Settles when that is written. */
  readonly note: (message: JsonObject) => Promise<void>;
  /** Removes secrets from what is logged. */
  readonly redact: (value: unknown) => unknown;
  /** The connections of the session that can be asked now. */
  readonly present: () => readonly Askable[];
  /** The connection whose prompt is under way. */
  readonly prompting: () => string | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/**
 * The clients of a session, however many there are: messages to them go through its log, and of their answers to a
 * question the first counts.
 */
export class SessionClients implements Clients {
  /** The id of their session. */
  readonly session: string;
  readonly tenant: string;
  readonly #options: SessionClientsOptions;
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: SessionClientsOptions) {
    this.session = options.session;
    this.tenant = options.tenant;
    this.#options = options;
  }

  notify(method: string, params: JsonObject): void | Promise<void> {
    return this.#options.append({ message: { method, params } });
  }

  concluded(draft: Draft): Promise<void> {
    return this.#options.note({ method: TURN_OVER, params: { draft } });
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
    const question = { key, method, params, without, asked, only };
    this.#waiting.set(key, { ...question, resolve, reject, declined: new Map() });
    this.#options.asking.set(key, this);
    const withdraw = () => this.#settle(key, undefined, (waiting) => waiting.reject(signal.reason));
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      const { append, redact, present } = this.#options;
      if (only === undefined)
        await append({ message: { method, params: redactedQuestion(params, redact) }, request: key });
      // The content of a file that is written is not logged.
      else
        await present()
          .find(({ id }) => id === only)
          ?.ask(this.session, key, { method, params: { ...params, content: undefined } });
      return await promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#settle(key, undefined, () => undefined);
    }
  }

  /**
   * Takes the answer of a connection. One that chooses none of the options leaves the question to the other clients; where
   * there are none, or the connection whose prompt is under way cancels, it settles the question.
   */
  answer(key: string, connection: string, answer: ClientAnswer): Taken {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    const settle: Settle = ({ resolve }) => resolve(answer);
    const choice = waiting.method === PERMISSION ? readChoice(waiting.params, answer.value) : "chosen";
    if (choice === "not_offered") return "not_offered";
    const isFinal =
      choice === "chosen" || (choice === "cancelled" && connection === this.#options.prompting());
    return isFinal ? this.#settle(key, connection, settle) : this.#decline(waiting, connection, settle);
  }

  /** Takes an error for an answer, which leaves the question to the other clients while there are any. */
  fail(key: string, connection: string, error: RpcError, by: ClientAnswer["by"]): Taken {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    // Whoever asks permission waits for a choice, and takes none for a no; anything else has its error passed on.
    const settle: Settle = ({ method, resolve, reject }) =>
      method === PERMISSION ? resolve({ value: undefined, by }) : reject(error);
    return this.#decline(waiting, connection, settle);
  }

  /** Settles a question with an answer that was given elsewhere, whatever it chooses. */
  settle(key: string, answer: ClientAnswer): void {
    this.#settle(key, undefined, ({ resolve }) => resolve(answer));
  }

  whoServes(method: string, params: JsonObject): string | undefined {
    const { present, prompting, owner } = this.#options;
    const able = present().filter(({ capabilities }) => clientOffers(capabilities, method, params));
    const found =
      able.find(({ id }) => id === prompting()) ?? able.find(({ principal }) => principal.id === owner);
    return found?.id;
  }

  /** A connection is asked anew what it chose nothing for. */
  returned(connection: string): void {
    for (const { declined } of this.#waiting.values()) declined.delete(connection);
    for (const { key, method, params, only } of [...this.#waiting.values()])
      if (only === undefined && this.#isUnserved(method, params))
        this.#settle(key, undefined, ({ reject }) => reject(unserved(method)));
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
      if (settle && this.#options.present().length > 0 && !this.#isLeftToOthers(waiting))
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

  #decline(waiting: Waiting, connection: string, settle: Settle): Taken {
    waiting.declined.set(connection, settle);
    return this.#isLeftToOthers(waiting) ? "left" : this.#settle(waiting.key, connection, settle);
  }

  #isLeftToOthers({ method, params, declined, without, asked, only }: Waiting): boolean {
    if (only !== undefined) return !declined.has(only);
    return this.#options
      .present()
      .some(
        ({ id, principal, capabilities }) =>
          clientOffers(capabilities, method, params) &&
          !declined.has(id) &&
          !without.has(principal.id) &&
          (!asked || asked(principal) !== undefined),
      );
  }

  /** Whether there are clients, and none of them offers to answer a request. */
  #isUnserved(method: string, params: JsonObject): boolean {
    const present = this.#options.present();
    return (
      present.length > 0 && !present.some(({ capabilities }) => clientOffers(capabilities, method, params))
    );
  }

  /** Settles a question, and takes it back from everybody else. */
  #settle(key: string, connection: string | undefined, settle: Settle): "first" | "late" {
    const waiting = this.#waiting.get(key);
    if (!waiting) return "late";
    this.#waiting.delete(key);
    this.#options.asking.settle(key, this);
    settle(waiting);
    void this.#takeBack(waiting, connection);
    return "first";
  }

  async #takeBack({ key, only }: Waiting, connection: string | undefined): Promise<void> {
    const { append, present, onError } = this.#options;
    if (only !== undefined && only === connection) return;
    const asked = present().find(({ id }) => id === only);
    try {
      if (only === undefined) await append({ message: cancelOf(key), except: connection });
      else await asked?.send(cancelOf(key), this.session);
    } catch (error) {
      onError(error);
    }
  }
}

/** What an agent is answered that asks for something which no client offers. */
function unserved(method: string): RpcError {
  return new RpcError(CODE.methodNotFound, `no client of the session offers "${method}"`);
}

function gone(): RpcError {
  return new RpcError(CODE.internal, "the client that was asked has gone");
}

/** What takes a question back. */
export function cancelOf(key: string): JsonObject {
  return { method: "$/cancel_request", params: { requestId: questionId(key) } };
}
