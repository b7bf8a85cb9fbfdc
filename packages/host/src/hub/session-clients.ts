import { randomUUID } from "node:crypto";
import type { Draft } from "@reins/ledger";
import type { JsonObject } from "../acp/message.ts";
import { CODE, type RpcError } from "../acp/rpc-error.ts";
import type { ClientAnswer, Clients } from "../governor/clients.ts";
import type { NewEvent } from "../log/logged-event.ts";
import { questionId } from "./question-id.ts";
import { TURN_OVER } from "./turn-marks.ts";

/** A question to the clients of a session that nobody has answered. */
export interface OpenQuestion {
  readonly key: string;
  readonly method: string;
  /** Exactly as asked; the log has them without secrets. */
  readonly params: JsonObject;
}

interface Waiting extends OpenQuestion {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (reason: unknown) => void;
  /** The connections that said they do not know what is asked. */
  readonly unable: Set<string>;
}

/** A message for the session's log. */
export type SessionEvent = Omit<NewEvent, "tenant" | "session">;

/** What the clients of a session stand on. */
export interface SessionClientsOptions {
  /** The id of the session. */
  readonly session: string;
  /** Who asks the questions that wait, of all sessions. */
  readonly asking: Map<string, SessionClients>;
  /** Adds a message to the session's log. A promise is to be waited for. */
  readonly append: (event: SessionEvent) => void | Promise<void>;
  /** Notes something about its turns in the log. Settles when that is written. */
  readonly note: (message: JsonObject) => Promise<void>;
  /** Takes secrets out of what is kept. */
  readonly redact: (value: unknown) => unknown;
  /** The ids of the connections that follow the session now. */
  readonly present: () => readonly string[];
  /** Told what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/**
 * The clients of a session, however many there are: what they are told goes through its log, and of their answers to a
 * question the first counts.
 */
export class SessionClients implements Clients {
  /** The id of their session. */
  readonly session: string;
  readonly #options: SessionClientsOptions;
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: SessionClientsOptions) {
    this.session = options.session;
    this.#options = options;
  }

  notify(method: string, params: JsonObject): void | Promise<void> {
    return this.#options.append({ message: { method, params } });
  }

  concluded(draft: Draft): Promise<void> {
    return this.#options.note({ method: TURN_OVER, params: { draft } });
  }

  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<ClientAnswer> {
    signal.throwIfAborted();
    const key = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
    // It may be withdrawn before there was room to ask it, and is waited for only then.
    promise.catch(() => undefined);
    this.#waiting.set(key, { key, method, params, resolve, reject, unable: new Set() });
    this.#options.asking.set(key, this);
    const withdraw = () => this.#settle(key, undefined, (waiting) => waiting.reject(signal.reason));
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      const { append, redact } = this.#options;
      await append({ message: { method, params: redact(params) }, request: key });
      return await promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#settle(key, undefined, () => undefined);
    }
  }

  /** Gives an answer; whether it was the first. */
  answer(key: string, connection: string, answer: ClientAnswer): boolean {
    return this.#settle(key, connection, (waiting) => waiting.resolve(answer));
  }

  /** Gives an error for an answer; whether the question was open. One who does not know what is asked leaves it to the others. */
  fail(key: string, connection: string, error: RpcError): boolean {
    const waiting = this.#waiting.get(key);
    if (waiting && error.code === CODE.methodNotFound) {
      waiting.unable.add(connection);
      if (this.#options.present().some((other) => !waiting.unable.has(other))) return true;
    }
    return this.#settle(key, connection, ({ reject }) => reject(error));
  }

  /** A question, if it still waits. */
  question(key: string): OpenQuestion | undefined {
    return this.#waiting.get(key);
  }

  /** The questions that wait, the oldest first. */
  get questions(): readonly OpenQuestion[] {
    return [...this.#waiting.values()];
  }

  /** Settles a question, and takes it back from everybody else. */
  #settle(key: string, connection: string | undefined, settle: (waiting: Waiting) => void): boolean {
    const waiting = this.#waiting.get(key);
    if (!waiting) return false;
    this.#waiting.delete(key);
    this.#options.asking.delete(key);
    settle(waiting);
    void this.#takeBack(key, connection);
    return true;
  }

  async #takeBack(key: string, connection: string | undefined): Promise<void> {
    const { append, onError } = this.#options;
    try {
      await append({ message: cancelOf(key), except: connection });
    } catch (error) {
      onError(error);
    }
  }
}

/** What takes a question back. */
export function cancelOf(key: string): JsonObject {
  return { method: "$/cancel_request", params: { requestId: questionId(key) } };
}
