import { type ClientConnection, client, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { type JsonObject, membersOf, readParams, reinsMeta, updateIn } from "@reins/acp";
import type { TurnState } from "./attached-session.ts";
import { type ToolCall, toolCallWith } from "./conversation/tool-call.ts";

/** Receives what arrives over a connection. */
export interface ConnectionListener {
  onUpdate(session: string, update: JsonObject): void;
  onQuestion(session: string, question: Question): void;
  onCancelled(session: string, id: string): void;
  /** Messages of a session are missing and cannot be recovered. */
  onGap(session: string): void;
  onEnded(session: string): void;
  /** The turn state of a session, sent on attach and when another client's turn starts or ends. */
  onTurn(session: string, state: TurnState): void;
}

const TURN = "_reins/session/turn";
const GAP = "_reins/gap";
const ENDED = "_sandboxagent/session/ended";
const CLIENT_INFO = { name: "reins-inspector", title: "Reins inspector", version: "0.1.0" };

const INITIALIZE = {
  protocolVersion: 1,
  clientInfo: CLIENT_INFO,
  clientCapabilities: {
    elicitation: { form: {}, url: {} },
    session: { notices: {}, compaction: {}, configOptions: {} },
  },
  _meta: { reins: { turns: true } },
};

/** An ACP connection over one stream. It ends with the stream. */
export class Connection {
  readonly #connection: ClientConnection;
  #asked = 0;

  private constructor(stream: Stream, listener: ConnectionListener) {
    const app = client({ name: CLIENT_INFO.name });
    for (const method of QUESTION_METHODS)
      app.onRequest(method, parseSessionId, ({ params, signal }) =>
        this.#ask(method, params, signal, listener),
      );
    app.onNotification(GAP, parseSessionId, ({ params }) => listener.onGap(params.sessionId));
    app.onNotification(ENDED, parseSessionId, ({ params }) => listener.onEnded(params.sessionId));
    this.#connection = app.connect(stream);
  }

  /** Opens a connection and initializes it. */
  static async open(stream: Stream, listener: ConnectionListener): Promise<Connection> {
    const connection = new Connection(withoutUpdates(stream, listener), listener);
    try {
      await connection.request("initialize", INITIALIZE);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Aborts when the stream is closed. */
  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  /** Sends a request; the signal cancels it. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#connection.agent.request<unknown, unknown>(
      method,
      params,
      signal && { cancellationSignal: signal },
    );
  }

  /** Sends a notification. */
  notify(method: string, params: unknown): Promise<void> {
    return this.#connection.agent.notify<unknown>(method, params);
  }

  close(): void {
    this.#connection.close();
  }

  /** Asks the user; resolves with the answer, or when the agent cancels the question. */
  #ask(
    method: string,
    params: { readonly sessionId: string },
    signal: AbortSignal,
    listener: ConnectionListener,
  ): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#asked += 1;
    const id = `${this.#asked}`;
    const question = parseQuestion(method, params, id, resolve);
    if (!question) throw RequestError.invalidParams(undefined, "this page cannot show the question");
    signal.addEventListener("abort", () => resolve(withdrawn(method)), { once: true });
    listener.onQuestion(params.sessionId, question);
    return promise.finally(() => listener.onCancelled(params.sessionId, id));
  }
}

/**
 * Takes updates out of a stream before the SDK reads them: the SDK drops updates that its schema does not know, and the
 * page needs all of them in order.
 */
function withoutUpdates({ readable, writable }: Stream, listener: ConnectionListener): Stream {
  const tap = new TransformStream({
    transform(message, controller) {
      const { method, params } = membersOf(message);
      const { sessionId, kind, update } = updateIn(params);
      if (method === "session/update" && sessionId !== undefined && kind !== undefined)
        return listener.onUpdate(sessionId, update);
      const { state } = membersOf(params);
      if (method === TURN && sessionId !== undefined && (state === "running" || state === "idle"))
        return listener.onTurn(sessionId, state);
      controller.enqueue(message);
    },
  });
  return { readable: readable.pipeThrough(tap), writable };
}

function parseSessionId(params: unknown): { readonly sessionId: string } {
  const { sessionId } = readParams("session/cancel", params);
  if (sessionId === undefined) throw RequestError.invalidParams(undefined, "sessionId is missing");
  return { ...membersOf(params), sessionId };
}

/** An option of a permission request. */
export interface Option {
  readonly optionId: string;
  readonly name: string;
  readonly kind: string | undefined;
}

/** A question of an agent to the user. */
export type Question =
  | {
      readonly kind: "permission";
      readonly id: string;
      readonly call: ToolCall | undefined;
      readonly options: readonly Option[];
      /** The approval that this request waits for; other users may answer it too. */
      readonly approval: string | undefined;
      readonly reason: string | undefined;
      readonly answer: (value: unknown) => void;
    }
  | {
      readonly kind: "elicitation";
      readonly id: string;
      readonly message: string;
      readonly schema: unknown;
      readonly url: string | undefined;
      readonly answer: (value: unknown) => void;
    };

const QUESTION_METHODS = ["session/request_permission", "elicitation/create"] as const;

/** Parses a question; `undefined` if this page cannot show it. */
function parseQuestion(
  method: string,
  params: unknown,
  id: string,
  answer: (value: unknown) => void,
): Question | undefined {
  if (method === "elicitation/create") {
    const { message, requestedSchema: schema, url } = readParams("elicitation/create", params);
    return message === undefined ? undefined : { kind: "elicitation", id, message, schema, url, answer };
  }
  const { toolCall, options } = readParams("session/request_permission", params);
  const shown = options.flatMap(({ optionId, name, kind }) =>
    optionId === undefined || name === undefined ? [] : [{ optionId, name, kind }],
  );
  if (!Array.isArray(membersOf(params).options) || shown.length < options.length) return undefined;
  const { approval, reason } = reinsMeta(params);
  const call = toolCallWith(undefined, toolCall, undefined);
  return { kind: "permission", id, call, options: shown, approval, reason, answer };
}

function withdrawn(method: string): unknown {
  return method === "elicitation/create" ? { action: "cancel" } : { outcome: { outcome: "cancelled" } };
}
