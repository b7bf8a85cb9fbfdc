import { type ClientConnection, client, RequestError } from "@agentclientprotocol/sdk";
import { type AcpToolCall, type JsonObject, membersOf, readParams, reinsMeta } from "@reins/acp";
import { raceAbort } from "@reins/kit/async";
import { ApiError, ConnectionError, InterruptedError } from "./errors.ts";
import type { ApiOptions } from "./http.ts";
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
    const { interrupted, incompatible, problem, retryAfterMs } = membersOf(error.data);
    if (interrupted === true) return new InterruptedError(error.message, { cause: error });
    if (incompatible === true) return new ConnectionError("incompatible", error.message, { cause: error });
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

/** What an agent wants to do, and the answers that are offered. */
export interface PermissionRequest {
  readonly sessionId: string;
  readonly call: AcpToolCall;
  readonly options: readonly {
    readonly optionId: string;
    readonly name: string;
    readonly kind: string | undefined;
  }[];
  /** The id of the approval, which other people may answer, too. */
  readonly approval: string | undefined;
  /** Why the policy asks. */
  readonly reason: string | undefined;
  /** Aborts when the question is settled elsewhere or the turn ends. */
  readonly signal: AbortSignal;
}

/** An answer by its kind, or by the id of an option. Without one, the question stays open for others. */
export type PermissionAnswer = "allow" | "allow_always" | "deny" | { readonly optionId: string } | undefined;

/** Answers the permission requests of agents. */
export type PermissionHandler = (request: PermissionRequest) => PermissionAnswer | Promise<PermissionAnswer>;

/** A form or an address that an agent asks a person for. */
export interface ElicitationRequest {
  readonly sessionId: string | undefined;
  readonly message: string;
  /** The JSON schema of a form. */
  readonly schema: unknown;
  /** The address to open. */
  readonly url: string | undefined;
  readonly signal: AbortSignal;
}

/** The content of a form, or no content. Without an answer, the question stays open for others. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" | "cancel" }
  | undefined;

/** Answers the forms of agents. */
export type ElicitationHandler = (
  request: ElicitationRequest,
) => ElicitationAnswer | Promise<ElicitationAnswer>;

/** Who answers the questions of agents. A question without a handler waits for an answer from elsewhere. */
interface QuestionHandlers {
  readonly onPermission?: PermissionHandler | undefined;
  readonly onElicitation?: ElicitationHandler | undefined;
}

const KINDS = { allow: "allow_once", allow_always: "allow_always", deny: "reject_once" } as const;

/** Answers a permission request with the handler. */
export async function permissionOutcome(
  handler: PermissionHandler | undefined,
  params: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { sessionId = "", toolCall, options } = readParams("session/request_permission", params);
  const offered = options.flatMap(({ optionId, name, kind }) =>
    optionId === undefined || name === undefined ? [] : [{ optionId, name, kind }],
  );
  const { approval, reason } = reinsMeta(params);
  const answer = await handler?.({ sessionId, call: toolCall, options: offered, approval, reason, signal });
  if (answer === undefined) return aborted(signal, { outcome: { outcome: "cancelled" } });
  const chosen = offered.find(({ optionId, kind }) =>
    typeof answer === "object" ? optionId === answer.optionId : kind === KINDS[answer],
  );
  if (!chosen) throw RequestError.invalidRequest(undefined, "no such answer is offered");
  return { outcome: { outcome: "selected", optionId: chosen.optionId } };
}

/** Answers a form with the handler. */
export async function elicitationOutcome(
  handler: ElicitationHandler | undefined,
  params: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { message = "", requestedSchema: schema, url } = readParams("elicitation/create", params);
  const { sessionId } = membersOf(params);
  const request = { message, schema, url, signal };
  const answer = await handler?.({
    ...request,
    sessionId: typeof sessionId === "string" ? sessionId : undefined,
  });
  return answer ?? aborted(signal, { action: "cancel" });
}

/** Waits until another client or the end of the turn settles the question. */
function aborted<T>(signal: AbortSignal, result: T): Promise<T> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(result);
    else signal.addEventListener("abort", () => resolve(result), { once: true });
  });
}
