import { errorMessage } from "@reins/kit/errors";
import { isRecord, type JsonObject, type MessageListener, parseExact } from "@reins/kit/json";

export { isRecord as isObject, type JsonObject };

/** The id of a JSON-RPC request, returned unchanged in its response. */
export type RequestId = string | number | null;

/** A message by its kind. */
export type Classified =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RequestId; readonly error: unknown }
  | { readonly kind: "malformed"; readonly id: RequestId; readonly reason: string };

/** Classifies a message as a request, a notification or a response. */
export function classify(message: JsonObject): Classified {
  const { method, params } = message;
  const id = idIn(message);
  if (message.jsonrpc !== "2.0") return malformed(id, 'a message needs "jsonrpc": "2.0"');
  if (typeof method === "string") {
    if ("result" in message || "error" in message)
      return malformed(id, "a message is either a request or a response");
    if (!("id" in message)) return { kind: "notification", method, params };
    return id === undefined
      ? malformed(id, "an id is text, a number or null")
      : { kind: "request", id, method, params };
  }
  if (id === undefined) return malformed(id, "a message needs a method or an id");
  if ("error" in message) return { kind: "error", id, error: message.error };
  if ("result" in message) return { kind: "result", id, result: message.result };
  return malformed(id, "a response needs a result or an error");
}

function idIn({ id }: JsonObject): RequestId | undefined {
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}

function malformed(id: RequestId | undefined, reason: string): Classified {
  return { kind: "malformed", id: id ?? null, reason };
}

/** The members of a value that should be an object; none when it is not. */
export function membersOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

/** Parses a JSON object; the result is empty for anything else. */
export function parseObject(json: string): JsonObject {
  try {
    return membersOf(parseExact(json));
  } catch {
    return {};
  }
}

/** Error codes of JSON-RPC and ACP. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  authRequired: -32000,
  notFound: -32002,
  /** Of Reins: more than a quota has. */
  quotaExceeded: -32029,
  cancelled: -32800,
} as const;

/** An error with a code of JSON-RPC or ACP. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }

  /** Parses the error of a response. Agents write errors in several ways; the message is kept. */
  static read(error: unknown): RpcError {
    if (!isRecord(error)) return new RpcError(CODE.internal, String(error));
    const { code, message, data } = error;
    return new RpcError(
      typeof code === "number" ? code : CODE.internal,
      typeof message === "string" ? message : "it failed without a reason",
      data,
    );
  }

  /** Maps any error to one that can be sent. */
  static of(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    return new RpcError(CODE.internal, errorMessage(error));
  }

  /** The error object of a JSON-RPC response. */
  toWire(): { code: number; message: string; data?: unknown } {
    return { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) };
  }
}

/** The error of a prompt whose turn was cut off, or cannot start, for a reason that is not its own. */
export function interruptedBy(why: string): RpcError {
  const message = `${why} before this was answered; what was under way may or may not have happened`;
  return new RpcError(CODE.internal, message, { interrupted: true });
}

/** A connection that carries whole messages in order, in both directions. */
export interface Channel {
  /** Resolves when there is room for another message; rejects when the channel has closed. */
  send(message: JsonObject): Promise<void>;
  /** Sets the listener. Messages that arrived before are delivered to it first. */
  onMessage(listener: MessageListener): void;
  /** Resolves with the reason when the channel closes. */
  readonly closed: Promise<Error>;
}

/** Two connected channels within this process, and a function that closes both. */
export function channelPair(): [Channel, Channel, (reason: Error) => void] {
  const [left, right] = [new ChannelEnd(), new ChannelEnd()];
  const close = (reason: Error) => {
    left.closed.resolve(reason);
    right.closed.resolve(reason);
  };
  return [left.connectedTo(right), right.connectedTo(left), close];
}

class ChannelEnd {
  readonly closed = Promise.withResolvers<Error>();
  #listener: MessageListener | undefined;
  #waiting: JsonObject[] = [];
  #last: Promise<void> = Promise.resolve();

  connectedTo(other: ChannelEnd): Channel {
    return {
      send: (message) => other.#deliver(message),
      onMessage: (listener) => this.#listen(listener),
      closed: this.closed.promise,
    };
  }

  #deliver(message: JsonObject): Promise<void> {
    const listener = this.#listener;
    if (!listener) {
      this.#waiting.push(message);
      return Promise.resolve();
    }
    const delivered = this.#last.then(() => listener(message));
    this.#last = delivered.catch(() => undefined);
    return this.#last;
  }

  #listen(listener: MessageListener): void {
    this.#listener = listener;
    for (const message of this.#waiting.splice(0)) void this.#deliver(message);
  }
}

/** What a handler knows about a request besides its method and parameters. */
export interface RequestCall {
  readonly id: RequestId;
  /** Aborts when the other side cancels the request or the channel closes. */
  readonly signal: AbortSignal;
}

/** Handles the messages of the other side. */
export interface PeerHandlers {
  /** Returns the result of a request; what it throws is sent as an error. Parameters that are no object read as none. */
  request(method: string, params: JsonObject, call: RequestCall): Promise<unknown>;
  /** Handles a notification. The next message is delivered when it settles. */
  notification(method: string, params: JsonObject): void | Promise<void>;
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
        return this.#handlers.notification(classified.method, membersOf(classified.params));
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
      const result = await this.#handlers.request(method, membersOf(params), { id, signal });
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
