import { CODE, classify, type JsonObject, membersOf, type RequestId, RpcError } from "@reins/acp";

/** The connection to the host of the agent: whole JSON-RPC messages, in order. */
export interface AgentPort {
  /** Resolves when there is room for another message; rejects when the connection has closed. */
  send(message: JsonObject): Promise<void>;
  /** The next message arrives when the listener's promise settles. */
  onMessage(listener: (message: JsonObject) => void | Promise<void>): void;
  /** Resolves with the reason when the connection closes. */
  readonly closed?: Promise<Error>;
}

/** Handles the messages of the other side. */
interface PeerHandlers {
  /** The signal aborts when the request is cancelled or the connection closes. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown>;
  notification(method: string, params: JsonObject): void;
  /** Reports a malformed message or one that could not be sent. */
  fault(reason: string): void;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const CANCEL = "$/cancel_request";

/** One end of a JSON-RPC connection in both directions. Closing it rejects every pending request. */
export class RpcPeer {
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
  readonly #port: AgentPort;
  readonly #handlers: PeerHandlers;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #handling = new Map<RequestId, AbortController>();
  readonly #closed = new AbortController();
  #next = 1;

  constructor(port: AgentPort, handlers: PeerHandlers) {
    this.#port = port;
    this.#handlers = handlers;
    this.signal = this.#closed.signal;
    void port.closed?.then((reason) => this.close(reason));
    port.onMessage((message) => this.#receive(message));
  }

  /** Sends a request and returns its result. Aborting the signal cancels the request. */
  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    this.signal.throwIfAborted();
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    const cancel = () => {
      reject(signal.reason);
      this.notify(CANCEL, { requestId: id }).catch((error: unknown) => this.#sendFailed(error));
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      await Promise.race([promise, this.#port.send({ jsonrpc: "2.0", id, method, params })]);
      return await promise;
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#pending.delete(id);
    }
  }

  notify(method: string, params: JsonObject): Promise<void> {
    return this.#port.send({ jsonrpc: "2.0", method, params });
  }

  /** Rejects every pending request. */
  close(reason: Error): void {
    this.#closed.abort(reason);
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #receive(message: JsonObject): void | Promise<void> {
    const classified = classify(message);
    switch (classified.kind) {
      case "request":
        // Not awaited: the next message may be a response that this request needs, or its cancellation.
        void this.#handle(classified.id, classified.method, membersOf(classified.params));
        return;
      case "notification":
        if (classified.method === CANCEL) this.#cancel(membersOf(classified.params));
        else this.#handlers.notification(classified.method, membersOf(classified.params));
        return;
      case "result":
        // A response to a cancelled request has no pending entry.
        this.#pending.get(classified.id)?.resolve(classified.result);
        return;
      case "error":
        this.#pending.get(classified.id)?.reject(RpcError.read(classified.error));
        return;
      case "malformed":
        this.#handlers.fault("received a malformed message");
        return this.#reply(classified.id, {
          error: new RpcError(CODE.invalidRequest, "a message needs a method or a result").toWire(),
        });
    }
  }

  async #handle(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const controller = new AbortController();
    this.#handling.set(id, controller);
    const signal = AbortSignal.any([controller.signal, this.signal]);
    try {
      const result = await this.#handlers.request(method, params, signal);
      await this.#reply(id, { result: result ?? {} });
    } catch (error) {
      await this.#reply(id, { error: RpcError.of(error).toWire() });
    } finally {
      this.#handling.delete(id);
    }
  }

  async #reply(id: RequestId, answer: { result: unknown } | { error: unknown }): Promise<void> {
    await this.#port
      .send({ jsonrpc: "2.0", id, ...answer })
      .catch((error: unknown) => this.#sendFailed(error));
  }

  #sendFailed(error: unknown): void {
    if (!this.signal.aborted)
      this.#handlers.fault(`a message could not be sent: ${RpcError.of(error).message}`);
  }

  #cancel({ requestId }: JsonObject): void {
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#handling.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was cancelled"));
  }
}
