import { isUtf8 } from "node:buffer";
import type { Duplex } from "node:stream";
import type { Connection, JsonObject, Outlet } from "@reins/host";
import type { RawData, WebSocket } from "ws";
import { deadlineOf } from "../connections/deadline.ts";
import { framed } from "../connections/frames.ts";
import type { AcpSettings } from "./take-message.ts";
import { textFrames } from "./text-frames.ts";
import type { WebSocketCaller } from "./web-sockets.ts";

/** What a client of a WebSocket is served with. */
export interface WebSocketClientOptions extends WebSocketCaller {
  readonly id: string;
  /** The agent that its address names. */
  readonly agent: string | undefined;
  readonly settings: AcpSettings;
  /** The connection below the WebSocket. */
  readonly line: Pick<Duplex, "write">;
}

/** Why a WebSocket is closed by us. */
const CLOSE = { leaving: 1001, protocol: 1002, policy: 1008, internal: 1011 } as const;
/** How long a client may take to close its side. */
const CLOSING_MS = 2_000;

const frame = framed((text) => text);

/** One client on one WebSocket: a message of JSON-RPC in each text frame, `initialize` first. */
export class WebSocketClient {
  readonly #socket: WebSocket;
  readonly #options: WebSocketClientOptions;
  readonly #gone = new AbortController();
  /** Frames are taken one after the other. */
  #taking: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #connection: Connection | undefined;
  #spoken: ((message: JsonObject) => void | Promise<void>) | undefined;
  /** When the client last took something, and the room that somebody waits for. */
  #taken: number;
  #room: PromiseWithResolvers<void> | undefined;
  /** What goes out together, once nothing more is said in this turn of the event loop. */
  #gathered: string[] = [];
  #gatheredLength = 0;
  #answered = true;
  #callOffBeat: () => void = () => undefined;

  constructor(socket: WebSocket, options: WebSocketClientOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#taken = this.#now();
    socket.on("message", (data, isBinary) => this.#queue(data, isBinary));
    socket.on("pong", () => {
      this.#answered = true;
    });
    socket.on("error", () => socket.terminate());
    socket.once("close", () => this.#over());
    this.#beat();
  }

  /** Ends it; what was sent still arrives. */
  async end(): Promise<void> {
    if (this.#gone.signal.aborted) return;
    const closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.#close(CLOSE.leaving, "Reins is stopping");
    await closed;
  }

  #queue(data: RawData, isBinary: boolean): void {
    if (isBinary || this.#gone.signal.aborted) return;
    const bytes = bytesOf(data);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > this.#options.settings.limits.maxMessageBytes * 2) {
      this.#close(CLOSE.policy, "too much waits to be taken");
      return;
    }
    this.#taking = this.#taking
      .then(() => this.#take(bytes))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#waitingBytes -= bytes.length;
      });
  }

  async #take(bytes: Buffer): Promise<void> {
    const { host } = this.#options.serving;
    const value = valueIn(bytes);
    if (value === undefined) return this.#send(errorOf(host.CODE.parse, "this is no JSON"), undefined);
    if (Array.isArray(value))
      return this.#send(errorOf(host.CODE.invalidRequest, "there are no batches in ACP"), undefined);
    if (!host.isObject(value))
      return this.#send(errorOf(host.CODE.invalidRequest, "a message is an object"), undefined);
    if (!this.#spoken) return this.#initialize(value);
    const sorted = host.sort(value);
    if (sorted.kind === "request" && sorted.method === "initialize")
      return this.#send(
        errorOf(host.CODE.invalidRequest, "this connection is initialized already", sorted.id),
        undefined,
      );
    await this.#spoken(value);
  }

  async #initialize(message: JsonObject): Promise<void> {
    const { serving, principal, id, agent, settings } = this.#options;
    const { host, hosting } = serving;
    const sorted = host.sort(message);
    if (sorted.kind !== "request" || sorted.method !== "initialize" || sorted.id === null) {
      this.#close(CLOSE.protocol, "the first message is initialize");
      return;
    }
    const params = host.membersOf(sorted.params);
    const named = host.agentIn(params) ?? agent ?? settings.defaultAgent;
    const connection = await hosting.hub.connect({ id, principal, agent: named, outlet: this.#outlet });
    this.#connection = connection;
    const { hub } = hosting;
    const deadline = deadlineOf({ method: sorted.method, session: undefined }, { ...settings, hub });
    const conversation = new host.Conversation(connection, new AbortController().signal);
    try {
      const answer = await Promise.race([
        conversation.ask(sorted.id, sorted.method, params),
        deadline.passed.then(() => errorOf(host.CODE.internal, "the agent has not answered", sorted.id)),
      ]);
      await this.#send(answer, undefined);
      if ("error" in answer) this.#close(CLOSE.internal, "initialize failed");
    } finally {
      deadline.callOff();
    }
    const send = async (answer: JsonObject) => this.#send(answer, undefined);
    this.#spoken = (next) => host.takeMessage({ connection, conversation, answer: send }, next);
    if (this.#gone.signal.aborted) hub.disconnect(connection);
  }

  readonly #outlet: Outlet = {
    send: (message, order, text) => this.#send(message, order, text),
    failed: () => this.#close(CLOSE.internal, "the log cannot be followed"),
  };

  /** Sends a message; a promise says that there is no room for more. */
  #send(message: JsonObject, order: number | undefined, text?: string): undefined | Promise<void> {
    if (this.#gone.signal.aborted) return undefined;
    const { maxBufferedBytes } = this.#options.settings.limits;
    const sent = frame(message, order, text);
    if (this.#gathered.push(sent) === 1) setImmediate(() => this.#flush());
    this.#gatheredLength += sent.length;
    if (this.#socket.bufferedAmount + this.#gatheredLength <= maxBufferedBytes) return undefined;
    this.#flush();
    if (this.#socket.bufferedAmount <= maxBufferedBytes) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  #flush(): void {
    const texts = this.#gathered;
    this.#gathered = [];
    this.#gatheredLength = 0;
    // After the frame that closes it, a WebSocket takes no other.
    if (texts.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#options.line.write(textFrames(texts), () => this.#took());
  }

  /** The socket has taken what went out together. */
  #took(): void {
    this.#taken = this.#now();
    const { maxBufferedBytes } = this.#options.settings.limits;
    if (this.#socket.bufferedAmount > maxBufferedBytes / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Looks now and then whether the client lives, reads, and still may. */
  #beat(): void {
    const { clock, limits } = this.#options.settings;
    this.#callOffBeat = clock.after(Math.min(limits.keepAliveMs, limits.stallMs), () => {
      const isStuck = this.#socket.bufferedAmount > 0 && this.#now() - this.#taken >= limits.stallMs;
      if (isStuck || !this.#answered) {
        this.#socket.terminate();
        return;
      }
      this.#answered = false;
      this.#socket.ping();
      void this.#attend();
      this.#beat();
    });
  }

  /** One whose token was revoked is told nothing more. */
  async #attend(): Promise<void> {
    const { identity, principal } = this.#options;
    const now = await identity.current(principal).catch(() => undefined);
    if (now?.tenant === principal.tenant) this.#connection?.refresh(now);
    else this.#close(CLOSE.policy, "the token was revoked or has expired");
  }

  #fail(error: unknown): void {
    this.#options.settings.log.warn({ err: error }, "a message over WebSocket could not be taken");
    this.#close(CLOSE.internal, "a message could not be taken");
  }

  #close(code: number, reason: string): void {
    this.#flush();
    this.#socket.close(code, reason);
    const callOff = this.#options.settings.clock.after(CLOSING_MS, () => this.#socket.terminate());
    this.#socket.once("close", callOff);
  }

  #over(): void {
    this.#callOffBeat();
    this.#gone.abort();
    this.#room?.resolve();
    if (this.#connection) this.#options.serving.hosting.hub.disconnect(this.#connection);
  }

  #now(): number {
    return this.#options.settings.clock.now().getTime();
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

/** The value in a frame; `undefined` when it is no JSON. */
function valueIn(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function errorOf(code: number, message: string, id: string | number | null = null): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
