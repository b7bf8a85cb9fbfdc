import { CODE, classify, isObject, type JsonObject, membersOf } from "@reins/acp";
import { agentIn, type Connection, Conversation, type Hosting, type Outlet, takeMessage } from "@reins/host";
import { JsonError, parseExact } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { WebSocket } from "ws";
import { onTimeout } from "../connections/durable-connection.ts";
import { framed } from "../connections/message-stream.ts";
import { CLOSE, TextSocket, type TextSocketOptions } from "../streams/web-socket.ts";
import type { AcpSettings } from "./acp-routes.ts";

interface WebSocketClientOptions extends Pick<TextSocketOptions, "line" | "turn"> {
  readonly principal: Principal;
  readonly hosting: Hosting;
  readonly identity: Harness["identity"];
  readonly id: string;
  /** The agent named in the URL. */
  readonly agent: string | undefined;
  readonly settings: AcpSettings;
}

const frame = framed((text) => text);

/** One client on one WebSocket: a JSON-RPC message per text frame, `initialize` first. */
export class WebSocketClient {
  readonly #socket: TextSocket;
  readonly #options: WebSocketClientOptions;
  #connection: Connection | undefined;
  #handle: ((message: JsonObject) => void | Promise<void>) | undefined;

  constructor(socket: WebSocket, options: WebSocketClientOptions) {
    this.#options = options;
    const { settings, line, turn } = options;
    this.#socket = new TextSocket(
      socket,
      { clock: settings.clock, limits: settings.limits, line, turn },
      {
        text: (text) => this.#take(text).catch((error: unknown) => this.#fail(error)),
        binary: () => undefined,
        mayStay: () => this.#attend(),
        closed: () => this.#over(),
      },
    );
  }

  /** Closes the connection after flushing what was sent. */
  leave(reason: string): Promise<void> {
    return this.#socket.leave(reason);
  }

  async #take(text: string): Promise<void> {
    let value: unknown;
    try {
      value = parseExact(text);
    } catch (error) {
      return this.#send(jsonErrorOf(error), undefined);
    }
    if (Array.isArray(value))
      return this.#send(errorOf(CODE.invalidRequest, "there are no batches in ACP"), undefined);
    if (!isObject(value))
      return this.#send(errorOf(CODE.invalidRequest, "a message is an object"), undefined);
    if (!this.#handle) return this.#initialize(value);
    const next = classify(value);
    if (next.kind === "request" && next.method === "initialize")
      return this.#send(
        errorOf(CODE.invalidRequest, "this connection is initialized already", next.id),
        undefined,
      );
    await this.#handle(value);
  }

  async #initialize(message: JsonObject): Promise<void> {
    const { hosting, principal, id, agent, settings } = this.#options;
    const first = classify(message);
    if (first.kind !== "request" || first.method !== "initialize" || first.id === null) {
      this.#socket.close(CLOSE.protocol, "the first message is initialize");
      return;
    }
    const params = membersOf(first.params);
    const named = agentIn(params) ?? agent ?? settings.defaultAgent;
    const connection = await hosting.hub.connect({ id, principal, agent: named, outlet: this.#outlet });
    this.#connection = connection;
    const { hub } = hosting;
    const { clock, limits: timeouts } = settings;
    const { promise: late, resolve } = Promise.withResolvers<JsonObject>();
    const cancel = onTimeout({ method: first.method, session: undefined }, { hub, clock, timeouts }, () =>
      resolve(errorOf(CODE.internal, "the agent has not answered", first.id)),
    );
    const conversation = new Conversation(connection, new AbortController().signal);
    try {
      const answer = await Promise.race([conversation.ask(first.id, first.method, params), late]);
      await this.#send(answer, undefined);
      if ("error" in answer) this.#socket.close(CLOSE.internal, "initialize failed");
    } finally {
      cancel();
    }
    const send = async (answer: JsonObject) => this.#send(answer, undefined);
    this.#handle = (next) => takeMessage({ connection, conversation, answer: send }, next);
    if (this.#socket.isOver) hub.disconnect(connection);
  }

  readonly #outlet: Outlet = {
    send: (message, order, text) => this.#send(message, order, text),
    failed: () => this.#socket.close(CLOSE.internal, "the log cannot be followed"),
  };

  /** Sends a message; returns a promise while the buffer is full. */
  #send(message: JsonObject, order: number | undefined, text?: string): undefined | Promise<void> {
    if (this.#socket.isOver) return undefined;
    return this.#socket.send(frame(message, order, text));
  }

  /** Closes the connection of a revoked token. */
  async #attend(): Promise<boolean> {
    const { identity, principal } = this.#options;
    const now = await identity.current(principal).catch(() => undefined);
    if (now?.tenant !== principal.tenant) return false;
    this.#connection?.refresh(now);
    return true;
  }

  #fail(error: unknown): void {
    this.#options.settings.log.warn({ err: error }, "a message over WebSocket could not be handled");
    this.#socket.close(CLOSE.internal, "a message could not be handled");
  }

  #over(): void {
    if (this.#connection) this.#options.hosting.hub.disconnect(this.#connection);
  }
}

/** The response to a frame that cannot be read. */
function jsonErrorOf(error: unknown): JsonObject {
  if (!(error instanceof JsonError)) throw error;
  return error.fault === "duplicate_member"
    ? errorOf(CODE.invalidRequest, error.message)
    : errorOf(CODE.parse, "this is no JSON");
}

function errorOf(code: number, message: string, id: string | number | null = null): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
