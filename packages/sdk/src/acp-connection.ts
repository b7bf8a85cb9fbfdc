import { type ClientConnection, client, RequestError } from "@agentclientprotocol/sdk";
import { type JsonObject, membersOf } from "@reins/acp";
import { raceAbort } from "@reins/kit/async";
import { ApiError, ConnectionError, InterruptedError } from "./errors.ts";
import type { ApiOptions } from "./http.ts";
import { elicitationOutcome, permissionOutcome, type QuestionHandlers } from "./questions.ts";
import { rpcStream } from "./rpc-stream.ts";
import { type ConversationEvent, eventIn } from "./session-events.ts";

/** Receives the events of a session; the next message is read when its promise settles. */
export type SessionListener = (event: ConversationEvent) => void | Promise<void>;

/** Options of a connection. */
export interface AcpOptions extends ApiOptions, QuestionHandlers {
  /** Whether sessions also have the event `turn`, for the turns of other clients. */
  readonly turns?: boolean | undefined;
  /** Reports that the connection is open, or that it broke and is being resumed. */
  readonly onState?: ((isOpen: boolean) => void) | undefined;
}

/** One connection of the official SDK over `/v1/rpc`, shared by all sessions of a client. */
export class AcpConnection {
  readonly #connection: ClientConnection;
  readonly #listeners = new Map<string, Set<SessionListener>>();

  private constructor(url: string | URL, options: AcpOptions) {
    const { onPermission, onElicitation } = options;
    const app = client({ name: "reins-sdk" })
      .onRequest("session/request_permission", asReceived, ({ params, signal }) =>
        permissionOutcome(onPermission, params, signal),
      )
      .onRequest("elicitation/create", asReceived, ({ params, signal }) =>
        elicitationOutcome(onElicitation, params, signal),
      );
    // The official client drops updates that its schema does not know.
    const intercept = (message: JsonObject) => this.#dispatch(message);
    this.#connection = app.connect(rpcStream(url, { ...options, intercept }));
  }

  /** Connects and initializes, unless the signal aborts before. */
  static async open(url: string | URL, options: AcpOptions, signal: AbortSignal): Promise<AcpConnection> {
    const connection = new AcpConnection(url, options);
    try {
      await raceAbort(connection.request("initialize", initialization(options)), signal);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get isClosed(): boolean {
    return this.#connection.signal.aborted;
  }

  /** Sends a request. Aborting cancels it and rejects at once, because the server may not respond any more. */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const response = this.requestToEnd(method, params, signal);
    return signal ? raceAbort(response, signal) : response;
  }

  /** The same for a request that has a result when it is cancelled, too. */
  async requestToEnd(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    try {
      return await this.#connection.agent.request<unknown, unknown>(
        method,
        params,
        signal && { cancellationSignal: signal },
      );
    } catch (error) {
      throw requestError(error, this.#connection.signal);
    }
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.#connection.agent.notify<unknown>(method, params);
  }

  /** Subscribes to the events of a session; returns `unsubscribe`. */
  subscribe(sessionId: string, listener: SessionListener): () => void {
    const listeners = this.#listeners.get(sessionId) ?? new Set();
    this.#listeners.set(sessionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(sessionId);
    };
  }

  close(): void {
    this.#connection.close();
  }

  /** Calls back when the connection ends; returns the function that cancels it. */
  onClosed(run: (reason: unknown) => void): () => void {
    const { signal } = this.#connection;
    const listener = () => run(closedBecause(signal));
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
  }

  async #dispatch(message: JsonObject): Promise<boolean> {
    const found = eventIn(message);
    if (!found) return false;
    for (const listener of [...(this.#listeners.get(found.sessionId) ?? [])]) await listener(found.event);
    return true;
  }
}

function asReceived(params: unknown): unknown {
  return params;
}

function initialization({ onElicitation, turns }: AcpOptions): JsonObject {
  return {
    protocolVersion: 1,
    clientInfo: { name: "reins-sdk", title: "Reins SDK", version: "0.1.0" },
    clientCapabilities: {
      ...(onElicitation && { elicitation: { form: {}, url: {} } }),
      session: { notices: {}, compaction: {}, configOptions: {} },
    },
    ...(turns && { _meta: { reins: { turns } } }),
  };
}

/** Maps an error response to the error that describes it. */
function requestError(error: unknown, closed: AbortSignal): unknown {
  if (error instanceof RequestError) {
    const { interrupted, problem, retryAfterMs } = membersOf(error.data);
    if (interrupted === true) return new InterruptedError(error.message, { cause: error });
    const { status } = membersOf(problem);
    const wait = typeof retryAfterMs === "number" ? retryAfterMs : undefined;
    if (typeof status === "number") return new ApiError(status, problem, wait);
  }
  return closed.aborted ? closedBecause(closed) : error;
}

function closedBecause({ reason }: AbortSignal): unknown {
  if (reason instanceof ConnectionError || reason instanceof ApiError) return reason;
  return new ConnectionError("closed", "The connection to Reins was closed.", { cause: reason });
}
