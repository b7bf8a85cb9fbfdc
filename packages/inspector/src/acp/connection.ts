import { type ClientConnection, client, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { TurnState } from "./attached-session.ts";
import type { ReceivedUpdate } from "./conversation/conversation.ts";
import { type ToolCall, toolCallWith } from "./conversation/tool-call.ts";

/** Receives what arrives over a connection. */
export interface ConnectionListener {
  onUpdate(session: string, update: ReceivedUpdate["update"]): void;
  onQuestion(session: string, question: Question): void;
  onCancelled(session: string, id: string): void;
  /** Messages of a session are missing and cannot be recovered. */
  onGap(session: string): void;
  onEnded(session: string): void;
  /** The turn state of a session, sent on attach and when another client's turn starts or ends. */
  onTurn(session: string, state: TurnState): void;
}

const Update = z.looseObject({
  method: z.literal("session/update"),
  params: z.looseObject({ sessionId: z.string(), update: z.looseObject({ sessionUpdate: z.string() }) }),
});
const Turn = z.looseObject({
  method: z.literal("_reins/session/turn"),
  params: z.looseObject({ sessionId: z.string(), state: z.enum(["running", "idle"]) }),
});
const About = z.looseObject({ sessionId: z.string() });
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
    params: z.infer<typeof About>,
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
      const read = Update.safeParse(message);
      if (read.success) {
        listener.onUpdate(read.data.params.sessionId, read.data.params.update);
        return;
      }
      const turn = Turn.safeParse(message);
      if (turn.success) listener.onTurn(turn.data.params.sessionId, turn.data.params.state);
      else controller.enqueue(message);
    },
  });
  return { readable: readable.pipeThrough(tap), writable };
}

function parseSessionId(params: unknown): z.infer<typeof About> {
  return About.parse(params);
}

/** An option of a permission request. */
const Option = z.looseObject({ optionId: z.string(), name: z.string(), kind: z.string() });
export type Option = z.infer<typeof Option>;

const Permission = z.looseObject({
  toolCall: z.unknown(),
  options: z.array(Option),
  _meta: z
    .looseObject({
      reins: z
        .looseObject({
          approval: z.string(),
          reason: z.string().optional(),
          rule: z.string().nullish(),
          expires_at: z.string().optional(),
        })
        .optional(),
    })
    .nullish(),
});

const Elicitation = z.looseObject({
  message: z.string(),
  mode: z.string().default("form"),
  requestedSchema: z.unknown(),
  url: z.string().optional(),
});

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

/** The methods by which agents ask. */
const QUESTION_METHODS = ["session/request_permission", "elicitation/create"] as const;

/** Parses a question; `undefined` if this page cannot show it. */
function parseQuestion(
  method: string,
  params: unknown,
  id: string,
  answer: (value: unknown) => void,
): Question | undefined {
  if (method === "elicitation/create") {
    const read = Elicitation.safeParse(params);
    if (!read.success) return undefined;
    const { message, requestedSchema: schema, url } = read.data;
    return { kind: "elicitation", id, message, schema, url, answer };
  }
  const read = Permission.safeParse(params);
  if (!read.success) return undefined;
  const { toolCall, options, _meta } = read.data;
  return {
    kind: "permission",
    id,
    call: toolCallWith(undefined, toolCall, undefined),
    options,
    approval: _meta?.reins?.approval,
    reason: _meta?.reins?.reason,
    answer,
  };
}

/** The response to a cancelled question. */
function withdrawn(method: string): unknown {
  return method === "elicitation/create" ? { action: "cancel" } : { outcome: { outcome: "cancelled" } };
}
