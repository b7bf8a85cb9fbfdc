import type { JsonObject } from "../acp/message.ts";
import type { ClientAnswer, Clients } from "../governor/clients.ts";
import type { NewEvent } from "../log/logged-event.ts";

/** A question to the clients of a session that nobody has answered. */
export interface OpenQuestion {
  readonly key: string;
  readonly method: string;
  readonly params: JsonObject;
}

interface Waiting extends OpenQuestion {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (reason: unknown) => void;
}

/** Adds a message to the session's log. */
export type Append = (event: Omit<NewEvent, "tenant" | "session">) => void | Promise<void>;

/** Told that a question is answered or taken back, and by which connection if by one. */
export type SettledListener = (key: string, connection: string | undefined) => void;

/**
 * The clients of a session, however many there are: what they are told goes through its log, and of their answers to a
 * question the first counts.
 */
export class SessionClients implements Clients {
  readonly #append: Append;
  readonly #newKey: () => string;
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<SettledListener>();

  constructor(append: Append, newKey: () => string) {
    this.#append = append;
    this.#newKey = newKey;
  }

  notify(method: string, params: JsonObject): void | Promise<void> {
    return this.#append({ message: { method, params } });
  }

  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<ClientAnswer> {
    signal.throwIfAborted();
    const key = this.#newKey();
    const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
    this.#waiting.set(key, { key, method, params, resolve, reject });
    const withdraw = () => this.#settle(key, undefined, (waiting) => waiting.reject(signal.reason));
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      await this.#append({ message: { method, params }, request: key });
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

  /** Gives an error for an answer; whether it was the first. */
  fail(key: string, connection: string, error: Error): boolean {
    return this.#settle(key, connection, (waiting) => waiting.reject(error));
  }

  /** A question, if it still waits. */
  question(key: string): OpenQuestion | undefined {
    return this.#waiting.get(key);
  }

  /** Listens for questions that are settled; the returned function ends it. */
  onSettled(listener: SettledListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #settle(key: string, connection: string | undefined, settle: (waiting: Waiting) => void): boolean {
    const waiting = this.#waiting.get(key);
    if (!waiting) return false;
    this.#waiting.delete(key);
    settle(waiting);
    for (const listener of [...this.#listeners]) listener(key, connection);
    return true;
  }
}
