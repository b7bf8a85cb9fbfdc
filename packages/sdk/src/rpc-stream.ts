import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { CANCEL_REQUEST, classify, isObject, type JsonObject, type RequestId, SANDBOX } from "@reins/acp";
import { type Problem, RPC_CONNECTION } from "@reins/api";
import { exponentialBackoff } from "@reins/kit/backoff";
import { errorMessage } from "@reins/kit/errors";
import { ApiError, ConnectionError } from "./errors.ts";
import { BACKOFF, delay, followEvents, GIVE_UP_MS } from "./events.ts";
import { type ApiOptions, Http, parseResponse, responseText } from "./http.ts";

const PATH = "/v1/rpc";
/** The error code of a request that got no response of its own. */
const INTERNAL = -32603;
/** The most messages that wait for the reader. */
const MAX_WAITING = 64;
/** Refusals of answers and notifications that say that what they name is settled or gone. */
const SETTLED: ReadonlySet<number> = new Set([404, 409, 410]);

/** Options of {@link rpcStream}. */
export interface RpcStreamOptions extends ApiOptions {
  /** The agent of sessions that name none; the native one by default. */
  readonly agent?: string | undefined;
  /**
   * Sees each message of the stream before the reader does, and takes those for which it returns true. The next one is
   * read when its promise settles.
   */
  readonly intercept?: ((message: JsonObject) => boolean | Promise<boolean>) | undefined;
  /** Reports that the stream is open, or that it broke and is being resumed. */
  readonly onState?: ((isOpen: boolean) => void) | undefined;
}

/**
 * ACP over `/v1/rpc`, as a stream for the official SDK: `client().connect(rpcStream(url, { token }))`. When the
 * connection breaks it is resumed after the last message, also at a server that was restarted meanwhile. It fails when
 * it cannot be resumed. Prompts are answered on the stream, so a turn outlives both.
 */
export function rpcStream(url: string | URL, options: RpcStreamOptions = {}): Stream {
  return new RpcTransport(new Http(url, options), options).stream;
}

class RpcTransport {
  readonly stream: Stream;
  readonly #http: Http;
  readonly #options: RpcStreamOptions;
  readonly #closed = new AbortController();
  /** Requests of this side that have no response yet. */
  readonly #pending = new Set<RequestId>();
  /** Requests of the server that this side has not answered; a server that resumes sends them again. */
  readonly #asked = new Set<RequestId>();
  #output: ReadableStreamDefaultController<AnyMessage> | undefined;
  /** Resolves when the reader has taken something; absent while there is room. */
  #room: PromiseWithResolvers<void> | undefined;
  #connection: string | undefined;
  #isOpen = false;
  /** Resolved while the stream is open; what is sent waits for it. */
  #open = Promise.withResolvers<void>();

  constructor(http: Http, options: RpcStreamOptions) {
    this.#http = http;
    this.#options = options;
    this.stream = {
      readable: new ReadableStream<AnyMessage>(
        {
          start: (controller) => {
            this.#output = controller;
          },
          pull: () => this.#makeRoom(),
          cancel: () => this.#close(),
        },
        { highWaterMark: MAX_WAITING },
      ),
      writable: new WritableStream<AnyMessage>({
        write: (message) => this.#write({ ...message }),
        close: () => this.#close(),
        abort: () => this.#close(),
      }),
    };
  }

  async #write(message: JsonObject): Promise<void> {
    this.#closed.signal.throwIfAborted();
    const classified = classify(message);
    switch (classified.kind) {
      case "request": {
        this.#pending.add(classified.id);
        if (this.#connection === undefined) return this.#initialize(message, classified.id);
        const sent = this.#request(message, classified.id, classified.method);
        // What follows a prompt, such as its cancellation, comes after it.
        return classified.method === "session/prompt" ? sent : undefined;
      }
      case "notification":
        return this.#deliver(message);
      case "malformed":
        return;
      default:
        if (!this.#asked.has(classified.id)) return;
        await this.#deliver(message);
        this.#asked.delete(classified.id);
    }
  }

  /** Opens the connection: its id comes with the response to `initialize`. */
  async #initialize(message: JsonObject, id: RequestId): Promise<void> {
    try {
      const response = await this.#post(withAgent(message, this.#options.agent ?? "native"), {});
      const connection = response.headers.get(RPC_CONNECTION);
      if (connection === null)
        throw new ConnectionError(
          "incompatible",
          `The response has no ${RPC_CONNECTION}; other origins cannot see it.`,
        );
      this.#connection = connection;
      await this.#receiveResponse(id, response);
      void this.#read(connection);
    } catch (error) {
      await this.#refuse(id, error);
    }
  }

  async #request(message: JsonObject, id: RequestId, method: string): Promise<void> {
    try {
      await this.#open.promise;
      // An agent is installed and started first, and a person may be asked: the response comes on the stream, which
      // outlives connections and timeouts of platforms.
      const response = await this.#post(
        message,
        method.startsWith("session/") ? { prefer: "respond-async" } : {},
      );
      if (response.status === 200) await this.#receiveResponse(id, response);
    } catch (error) {
      await this.#refuse(id, error);
    }
  }

  async #receiveResponse(id: RequestId, response: Response): Promise<void> {
    await this.#receive(this.#parsed(await responseText(response)));
    await this.#refuse(id, new ConnectionError("incompatible", "The response answers another request."));
  }

  /**
   * Sends a notification or an answer, again if the server was gone or busy: it takes either twice without harm. No
   * response carries a failure, so that one ends the stream.
   */
  async #deliver(message: JsonObject): Promise<void> {
    const { giveUpMs = GIVE_UP_MS } = this.#http;
    let waited = 0;
    for (let failures = 1; ; failures += 1) {
      await this.#open.promise;
      if (this.#closed.signal.aborted) return;
      try {
        await this.#post(message, {});
        return;
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        const refused = error instanceof ApiError ? error : undefined;
        if (refused && SETTLED.has(refused.status)) return;
        if (!isTransient(error) || waited >= giveUpMs) {
          this.#fail(error);
          throw error;
        }
        const pause = exponentialBackoff(BACKOFF, failures, Math.random());
        const wait = Math.max(pause, Math.min(refused?.retryAfterMs ?? 0, giveUpMs - waited));
        waited += wait;
        await delay(wait, this.#closed.signal);
      }
    }
  }

  #post(message: JsonObject, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { signal } = this.#closed;
    return this.#http.request(PATH, {
      method: "POST",
      headers: { ...headers, accept: "application/json", ...this.#named() },
      body: message,
      signal,
    });
  }

  #parsed(text: string): unknown {
    return parseResponse(text, this.#options.parse);
  }

  #named(): Record<string, string> {
    return this.#connection === undefined ? {} : { [RPC_CONNECTION]: this.#connection };
  }

  /** Reads the stream until it is closed or cannot be resumed. */
  async #read(connection: string): Promise<void> {
    const { signal } = this.#closed;
    try {
      const events = followEvents({
        open: (lastEventId, aborted) =>
          this.#http.stream(PATH, {
            signal: aborted,
            lastEventId,
            headers: { [RPC_CONNECTION]: connection },
          }),
        signal,
        giveUpMs: this.#http.giveUpMs,
        onState: (isOpen) => this.#setOpen(isOpen),
      });
      for await (const { data } of events) if (data !== undefined) await this.#receive(this.#parsed(data));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Passes a message on, unless it is a question or a response that was passed on before. */
  async #receive(message: unknown): Promise<void> {
    if (!isObject(message)) return;
    const classified = classify(message);
    if (classified.kind === "result" || classified.kind === "error") {
      if (!this.#pending.delete(classified.id)) return;
    } else if (classified.kind === "request") {
      if (this.#asked.has(classified.id)) return;
      this.#asked.add(classified.id);
    } else if (classified.kind === "notification" && classified.method === CANCEL_REQUEST) {
      const { requestId } = isObject(classified.params) ? classified.params : {};
      if (typeof requestId === "string" || typeof requestId === "number") this.#asked.delete(requestId);
    } else if (classified.kind === "malformed") return;
    if (await this.#options.intercept?.(message)) return;
    await this.#pass(message);
  }

  async #pass(message: JsonObject): Promise<void> {
    if (this.#closed.signal.aborted || !isMessage(message)) return;
    this.#output?.enqueue(message);
    if ((this.#output?.desiredSize ?? 1) > 0) return;
    this.#room ??= Promise.withResolvers();
    await this.#room.promise;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #setOpen(isOpen: boolean): void {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    if (!this.#closed.signal.aborted) this.#options.onState?.(isOpen);
    if (isOpen) this.#open.resolve();
    else this.#open = Promise.withResolvers();
  }

  /** Answers a request that the server did not. */
  async #refuse(id: RequestId, error: unknown): Promise<void> {
    if (!this.#pending.delete(id) || this.#closed.signal.aborted) return;
    const data =
      error instanceof ApiError
        ? { problem: problemOf(error), retryAfterMs: error.retryAfterMs }
        : { [isIncompatible(error) ? "incompatible" : "interrupted"]: true };
    await this.#pass({ jsonrpc: "2.0", id, error: { code: INTERNAL, message: errorMessage(error), data } });
  }

  #fail(error: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.#end(error);
    this.#output?.error(error);
  }

  async #close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const headers = this.#named();
    this.#end(new ConnectionError("closed", "The connection was closed."));
    try {
      this.#output?.close();
    } catch {
      // The reader has cancelled it.
    }
    if (this.#connection === undefined) return;
    // An unused connection expires by itself.
    await this.#http.request(PATH, { method: "DELETE", headers }).catch(() => undefined);
  }

  #end(reason: unknown): void {
    this.#closed.abort(reason);
    this.#open.resolve();
    this.#makeRoom();
  }
}

/** Whether what failed may succeed later: the server was gone, busy, or at fault. */
function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || (error.status >= 500 && error.status !== 501);
  return error instanceof ConnectionError && error.code === "unreachable";
}

function isIncompatible(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "incompatible";
}

function problemOf({ status, code, title, detail, errors }: ApiError): Problem {
  return { type: `urn:reins:problem:${code}`, status, code, title, detail, errors: [...errors] };
}

function isMessage(message: JsonObject): message is JsonObject & AnyMessage {
  return classify(message).kind !== "malformed";
}

/** Names the agent in `initialize`, unless it does so itself. */
function withAgent(message: JsonObject, agent: string): JsonObject {
  const params = isObject(message.params) ? message.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  if (meta[SANDBOX] !== undefined) return message;
  return { ...message, params: { ...params, _meta: { ...meta, [SANDBOX]: { agent } } } };
}
