import type { Channel } from "./channel.ts";
import { CODE, classify, type JsonObject, membersOf, type RequestId, RpcError } from "./json-rpc.ts";

/** What a handler knows about a request besides its method and parameters. */
export interface RequestCall {
  readonly id: RequestId;
  /** Aborts when the other side cancels the request or the channel closes. */
  readonly signal: AbortSignal;
}

/** Handles the messages of the other side. */
export interface PeerHandlers {
  /** Returns the result of a request; what it throws is sent as an error. */
  request(method: string, params: unknown, call: RequestCall): Promise<unknown>;
  /** Handles a notification. The next message is delivered when it settles. */
  notification(method: string, params: unknown): void | Promise<void>;
  /** Reports a message that is malformed, answers no request, or could not be sent. */
  fault?(reason: string): void;
}

/** Options of a request. */
interface RequestOptions {
  /** Aborting sends `$/cancel_request`; the request settles with the response that follows. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the result before the next message is handled, which may refer to it. */
  readonly answered?: ((result: unknown) => void) | undefined;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: RpcError) => void;
}

/** The notification that cancels a request. */
export const CANCEL_REQUEST = "$/cancel_request";

/**
 * One end of a JSON-RPC connection in both directions. When the channel closes, every pending request rejects with the
 * reason.
 */
export class Peer {
  /** Aborts when the channel closes. */
  readonly signal: AbortSignal;
  readonly #channel: Channel;
  readonly #handlers: PeerHandlers;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #handling = new Map<RequestId, AbortController>();
  readonly #closed = new AbortController();
  #next = 1;

  constructor(channel: Channel, handlers: PeerHandlers) {
    this.#channel = channel;
    this.#handlers = handlers;
    this.signal = this.#closed.signal;
    void channel.closed.then((reason) => this.close(reason));
    channel.onMessage((message) => this.#receive(message));
  }

  /** Sends a request and returns its result exactly as received; `readResult` reads it. */
  async request(
    method: string,
    params: unknown,
    { signal, answered }: RequestOptions = {},
  ): Promise<unknown> {
    this.signal.throwIfAborted();
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle = (result: unknown) => {
      answered?.(result);
      resolve(result);
    };
    this.#pending.set(id, { resolve: settle, reject });
    const cancel = () => {
      this.notify(CANCEL_REQUEST, { requestId: id }).catch((error: unknown) => this.#sendFailed(error));
    };
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

  notify(method: string, params: unknown): Promise<void> {
    return this.#channel.send({ jsonrpc: "2.0", method, params });
  }

  /** Rejects every pending request and aborts what is being handled. */
  close(reason: Error): void {
    const error = RpcError.of(reason);
    this.#closed.abort(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  #receive(message: JsonObject): void | Promise<void> {
    const classified = classify(message);
    switch (classified.kind) {
      case "request":
        // Not awaited: the next message may be a response that this request needs, or its cancellation.
        void this.#handle(classified.id, classified.method, classified.params);
        return;
      case "notification":
        if (classified.method === CANCEL_REQUEST) return this.#cancel(classified.params);
        return this.#handlers.notification(classified.method, classified.params);
      case "result":
        return this.#settle(classified.id, (pending) => pending.resolve(classified.result));
      case "error":
        return this.#settle(classified.id, (pending) => pending.reject(RpcError.read(classified.error)));
      case "malformed":
        this.#handlers.fault?.(classified.reason);
        return this.#reply(classified.id, {
          error: new RpcError(CODE.invalidRequest, classified.reason).toWire(),
        });
    }
  }

  async #handle(id: RequestId, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#handling.set(id, controller);
    const signal = AbortSignal.any([controller.signal, this.signal]);
    try {
      const result = await this.#handlers.request(method, params, { id, signal });
      await this.#reply(id, { result: result ?? null });
    } catch (error) {
      await this.#reply(id, { error: RpcError.of(error).toWire() });
    } finally {
      // A client may have reused the id of a request that is still being handled.
      if (this.#handling.get(id) === controller) this.#handling.delete(id);
    }
  }

  async #reply(id: RequestId, response: { result: unknown } | { error: unknown }): Promise<void> {
    await this.#channel
      .send({ jsonrpc: "2.0", id, ...response })
      .catch((error: unknown) => this.#sendFailed(error));
  }

  #sendFailed(error: unknown): void {
    if (!this.signal.aborted)
      this.#handlers.fault?.(`a message could not be sent: ${RpcError.of(error).message}`);
  }

  #cancel(params: unknown): void {
    const { requestId } = membersOf(params);
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#handling.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was cancelled"));
  }

  #settle(id: RequestId, settle: (pending: Pending) => void): void {
    const pending = this.#pending.get(id);
    if (pending) settle(pending);
    else this.#handlers.fault?.(`a response to no request, with the id ${JSON.stringify(id)}`);
  }
}
