import type { Channel } from "./channel.ts";
import { CODE, classify, type JsonObject, membersOf, type RequestId, RpcError } from "./json-rpc.ts";

/** How a request from the other side is made known. */
export interface RequestCall {
  readonly id: RequestId;
  /** Aborts when the other side takes the request back, or has gone. */
  readonly signal: AbortSignal;
}

/** Who answers the other side. */
export interface PeerHandlers {
  /** Answers a request; what it throws goes back as an error. */
  request(method: string, params: unknown, call: RequestCall): Promise<unknown>;
  /** Takes a notification. The next message comes when it is done. */
  notification(method: string, params: unknown): void | Promise<void>;
  /** Reports a message that could not be read or answered. */
  fault?(reason: string): void;
}

/** How a request is made. */
export interface RequestOptions {
  /** Aborting sends `$/cancel_request`; the request settles with the response that follows. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the result before the next message is handled, which may refer to it. */
  readonly answered?: ((result: unknown) => void) | undefined;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: RpcError) => void;
}

const CANCEL = "$/cancel_request";

/**
 * One end of a JSON-RPC connection in both directions. When the channel closes, every pending request rejects with the
 * reason.
 */
export class Peer {
  /** Aborts when the other side has gone. */
  readonly signal: AbortSignal;
  readonly #channel: Channel;
  readonly #handlers: PeerHandlers;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #gone = new AbortController();
  #next = 1;

  constructor(channel: Channel, handlers: PeerHandlers) {
    this.#channel = channel;
    this.#handlers = handlers;
    this.signal = this.#gone.signal;
    void channel.closed.then((reason) => this.#end(reason));
    channel.onMessage((message) => this.#take(message));
  }

  /** Asks, and waits for the answer. */
  async request(
    method: string,
    params: unknown,
    { signal, answered }: RequestOptions = {},
  ): Promise<unknown> {
    this.#gone.signal.throwIfAborted();
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle = (result: unknown) => {
      answered?.(result);
      resolve(result);
    };
    this.#pending.set(id, { resolve: settle, reject });
    const cancel = () => void this.notify(CANCEL, { requestId: id }).catch(() => undefined);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      // A channel that closes before the request is written rejects it, too.
      await Promise.race([this.#channel.send({ jsonrpc: "2.0", id, method, params }), promise]);
      if (signal?.aborted) cancel();
      return await promise;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#pending.delete(id);
    }
  }

  /** Tells. */
  notify(method: string, params: unknown): Promise<void> {
    return this.#channel.send({ jsonrpc: "2.0", method, params });
  }

  #take(message: JsonObject): void | Promise<void> {
    const sorted = classify(message);
    switch (sorted.kind) {
      case "request":
        // Not waited for: the other side may have to answer something before it can be answered.
        void this.#answer(sorted.id, sorted.method, sorted.params);
        return;
      case "notification":
        if (sorted.method === CANCEL) return this.#cancel(sorted.params);
        return this.#handlers.notification(sorted.method, sorted.params);
      case "result":
        return this.#settle(sorted.id, (pending) => pending.resolve(sorted.result));
      case "error":
        return this.#settle(sorted.id, (pending) => pending.reject(RpcError.read(sorted.error)));
      case "malformed":
        this.#handlers.fault?.(sorted.reason);
        return this.#reply(sorted.id, { error: new RpcError(CODE.invalidRequest, sorted.reason).toWire() });
    }
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    const signal = AbortSignal.any([controller.signal, this.#gone.signal]);
    try {
      const result = await this.#handlers.request(method, params, { id, signal });
      await this.#reply(id, { result: result ?? null });
    } catch (error) {
      await this.#reply(id, { error: RpcError.of(error).toWire() });
    } finally {
      if (this.#answering.get(id) === controller) this.#answering.delete(id);
    }
  }

  async #reply(id: RequestId, answer: { result: unknown } | { error: unknown }): Promise<void> {
    try {
      await this.#channel.send({ jsonrpc: "2.0", id, ...answer });
    } catch (error) {
      this.#handlers.fault?.(`an answer could not be sent: ${RpcError.of(error).message}`);
    }
  }

  #cancel(params: unknown): void {
    const { requestId } = membersOf(params);
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was taken back"));
  }

  #settle(id: RequestId, settle: (pending: Pending) => void): void {
    const pending = this.#pending.get(id);
    if (pending) settle(pending);
    else this.#handlers.fault?.(`an answer to nothing that was asked, with the id ${JSON.stringify(id)}`);
  }

  #end(reason: Error): void {
    const error = RpcError.of(reason);
    this.#gone.abort(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
