import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { AhpError } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { WebSocket } from "ws";
import {
  type Channel,
  type Credentials,
  credentialHeaders,
  type ExchangeOptions,
  type Outgoing,
  type Reply,
  type Target,
} from "./channel.ts";
import { Inbox } from "./inbox.ts";

const CONNECT_MS = 10_000;
const MAX_MESSAGE = 64 * 1024 * 1024;

/** Connects to a harness that listens for WebSockets. */
export async function openWebSocket(
  { url }: Extract<Target, { transport: "websocket" }>,
  credentials: Credentials | undefined,
): Promise<WebSocketChannel> {
  const socket = new WebSocket(url, {
    headers: credentialHeaders(credentials),
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_MESSAGE,
    perMessageDeflate: false,
  });
  try {
    await once(socket, "open");
  } catch (error) {
    const why = errorMessage(error);
    throw new AhpError("transport", `WebSocket connection failed: ${why}`, { cause: error });
  }
  return new WebSocketChannel(socket);
}

/** One JSON document per text message. */
export class WebSocketChannel implements Channel {
  readonly transport = "websocket";
  readonly #socket: WebSocket;
  readonly #inbox = new Inbox();
  readonly #closed: Promise<number>;
  #closeCode: number | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data, isBinary) => {
      const text = data.toString();
      if (isBinary) this.#inbox.addNoise(`(binary message) ${text}`);
      else this.#inbox.deliver(text);
    });
    let fault = "";
    socket.on("error", (error) => {
      fault = `: ${error.message}`;
    });
    this.#closed = new Promise((resolve) => {
      socket.once("close", (code) => {
        this.#inbox.end(`the connection was closed with code ${code}${fault}`);
        this.#closeCode = code;
        resolve(code);
      });
    });
  }

  get ended(): string | undefined {
    return this.#inbox.ended;
  }

  /** The code of the close frame that ended the connection; 1006 when there was none. */
  get closeCode(): number | undefined {
    return this.#closeCode;
  }

  get noise(): readonly string[] {
    return this.#inbox.noise;
  }

  async send(message: Outgoing): Promise<void> {
    if (typeof message === "string" || Buffer.isBuffer(message)) return this.#write(message, false, true);
    for (const [index, piece] of message.entries()) {
      await this.#write(piece, false, index === message.length - 1);
    }
  }

  /** Sends a binary message, which the protocol has no use for. */
  sendBinary(data: Buffer): Promise<void> {
    return this.#write(data, true, true);
  }

  async exchange(message: Outgoing, { id, waitMs }: ExchangeOptions): Promise<Reply> {
    const answer = this.#inbox.next(id, waitMs);
    await Promise.race([this.send(message), answer]);
    const text = await answer;
    const { ended } = this;
    return text === undefined && ended !== undefined ? { text, ended } : { text };
  }

  /** Pings and returns what the pong carried; absent when none came. */
  async ping(data: string, waitMs: number): Promise<string | undefined> {
    const signal = AbortSignal.timeout(waitMs);
    const pong = once(this.#socket, "pong", { signal }).catch(() => []);
    this.#socket.ping(data);
    const [carried] = await Promise.race([pong, this.#closed.then(() => [])]);
    return carried === undefined ? undefined : String(carried);
  }

  /** Sends a close frame and returns the code of the reply; 1006 when there was none. */
  async goodbye(waitMs: number): Promise<number> {
    this.#socket.close(1000);
    const code = await Promise.race([this.#closed, delay(waitMs, 1006, { ref: false })]);
    this.#socket.terminate();
    return code;
  }

  unclaimed(): readonly string[] {
    return this.#inbox.unclaimed();
  }

  begin(beginning: Buffer): Promise<void> {
    return this.#write(beginning, false, false);
  }

  async vanish(): Promise<void> {
    this.#socket.terminate();
    await this.#closed;
  }

  close(): Promise<void> {
    return this.vanish();
  }

  async #write(data: string | Buffer, binary: boolean, fin: boolean): Promise<void> {
    const written = new Promise<void>((resolve) =>
      this.#socket.send(data, { binary, fin, compress: false }, () => resolve()),
    );
    await Promise.race([written, this.#closed]);
  }
}
