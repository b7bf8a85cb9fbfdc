import { CODE, classify, type JsonObject, membersOf, type RequestId, RpcError } from "./json-rpc.ts";

/** The way to whoever runs the agent: JSON-RPC messages, whole and in order. */
export interface AgentPort {
  /** Sends; settles when there is room for another, and rejects when the other side has gone. */
  send(message: JsonObject): Promise<void>;
  /** Who takes the messages; the next one comes when the promise settles. */
  onMessage(listener: (message: JsonObject) => void | Promise<void>): void;
  /** Settles when the other side has gone, with why. */
  readonly closed?: Promise<Error>;
}

/** Who answers the other side. */
export interface PeerHandlers {
  /** Answers a request; the signal aborts when it is taken back or the other side has gone. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown>;
  notification(method: string, params: JsonObject): void;
  /** Told of what could not be understood, or not be sent. */
  fault(reason: string): void;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const CANCEL = "$/cancel_request";

/** JSON-RPC with somebody who both asks and is asked. When the other side goes, everything that waits for it fails. */
export class RpcPeer {
  /** Aborts when the other side has gone. */
  readonly signal: AbortSignal;
  readonly #port: AgentPort;
  readonly #handlers: PeerHandlers;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #gone = new AbortController();
  #next = 1;

  constructor(port: AgentPort, handlers: PeerHandlers) {
    this.#port = port;
    this.#handlers = handlers;
    this.signal = this.#gone.signal;
    void port.closed?.then((reason) => this.close(reason));
    port.onMessage((message) => this.#receive(message));
  }

  /** Asks, and waits for the answer. Aborting takes the question back and waits no longer. */
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

  /** Tells. */
  notify(method: string, params: JsonObject): Promise<void> {
    return this.#port.send({ jsonrpc: "2.0", method, params });
  }

  /** Ends everything that waits. */
  close(reason: Error): void {
    this.#gone.abort(reason);
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #receive(message: JsonObject): void | Promise<void> {
    const classified = classify(message);
    switch (classified.kind) {
      case "request":
        // Not waited for: what comes next may be the answer that this one needs, or take it back.
        void this.#answer(classified.id, classified.method, membersOf(classified.params));
        return;
      case "notification":
        if (classified.method === CANCEL) this.#cancel(membersOf(classified.params));
        else this.#handlers.notification(classified.method, membersOf(classified.params));
        return;
      case "result":
        // An answer that comes after its question was taken back finds nobody.
        this.#pending.get(classified.id)?.resolve(classified.result);
        return;
      case "error":
        this.#pending.get(classified.id)?.reject(RpcError.read(classified.error));
        return;
      case "malformed":
        this.#handlers.fault("a message that is neither a request nor an answer came in");
        return this.#reply(classified.id, {
          error: new RpcError(CODE.invalidRequest, "a message needs a method or a result").toWire(),
        });
    }
  }

  async #answer(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    const signal = AbortSignal.any([controller.signal, this.signal]);
    try {
      const result = await this.#handlers.request(method, params, signal);
      await this.#reply(id, { result: result ?? {} });
    } catch (error) {
      await this.#reply(id, { error: RpcError.of(error).toWire() });
    } finally {
      this.#answering.delete(id);
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
    this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was taken back"));
  }
}
