import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { GatewayLimits } from "../limits.ts";
import { closeWithProblem, HttpProblem } from "../problems.ts";

export interface TextSocketHandlers {
  /** Handles a text; the next one waits for the promise. Never rejects. */
  text(text: string): Promise<void>;
  /** Called for a binary frame. */
  binary(): void;
  /** Checked periodically: whether the client may stay connected. Never rejects. */
  mayStay(): Promise<boolean>;
  /** Called when the connection has closed. */
  closed?(): void;
}

export interface TextSocketOptions {
  readonly clock: Clock;
  readonly limits: Pick<GatewayLimits, "maxMessageBytes" | "maxBufferedBytes" | "keepAliveMs" | "stallMs">;
  /** Called before each text: a promise that the text waits for, where its sender has sent too many. */
  readonly turn?: (() => undefined | Promise<void>) | undefined;
  /** The socket below the WebSocket. */
  readonly line: Pick<Duplex, "write">;
}

/** Close codes. */
export const CLOSE = {
  leaving: 1001,
  protocol: 1002,
  unsupported: 1003,
  policy: 1008,
  internal: 1011,
} as const;
/** The timeout of the closing handshake. */
const CLOSING_MS = 2_000;
/** The overhead of a queued frame. */
const FRAME_BYTES = 256;

/** A WebSocket that takes text frames, with ordered handling, bounded buffers and keep-alive. */
export class TextSocket {
  readonly #socket: WebSocket;
  readonly #options: TextSocketOptions;
  readonly #handlers: TextSocketHandlers;
  #taking: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  /** When the peer last received data; the promise of senders that wait for room. */
  #taken: number;
  #room: PromiseWithResolvers<void> | undefined;
  /** Texts of this turn of the event loop, written together. */
  #gathered: string[] = [];
  #gatheredLength = 0;
  #answered = true;
  #isWaiting = false;
  #isClosing = false;
  #isOver = false;
  #cancelBeat: () => void = () => undefined;

  constructor(socket: WebSocket, options: TextSocketOptions, handlers: TextSocketHandlers) {
    this.#socket = socket;
    this.#options = options;
    this.#handlers = handlers;
    this.#taken = this.#now();
    socket.on("message", (data, isBinary) => this.#queue(data, isBinary));
    socket.on("pong", () => {
      this.#answered = true;
    });
    // An invalid frame is answered with a close code, for which the peer must read what was sent.
    socket.on("error", () => this.#endSoon());
    socket.once("close", () => this.#end());
    this.#beat();
  }

  /** Whether the connection has closed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends a text; returns a promise while the buffer is full. Ignored after the close. */
  send(text: string): undefined | Promise<void> {
    if (this.#isOver) return undefined;
    const { maxBufferedBytes } = this.#options.limits;
    if (this.#gathered.push(text) === 1) setImmediate(() => this.#flush());
    this.#gatheredLength += text.length;
    if (this.#socket.bufferedAmount + this.#gatheredLength <= maxBufferedBytes) return undefined;
    this.#flush();
    if (this.#socket.bufferedAmount <= maxBufferedBytes) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Sends bytes in a binary frame, after the texts before it; returns a promise while the buffer is full. */
  sendBytes(bytes: Uint8Array): undefined | Promise<void> {
    if (this.#isOver) return undefined;
    this.#flush();
    if (this.#socket.readyState !== this.#socket.OPEN) return undefined;
    this.#socket.send(bytes, { binary: true }, () => this.#took());
    if (this.#socket.bufferedAmount <= this.#options.limits.maxBufferedBytes) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Closes the connection after flushing; ignores further input. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#flush();
    this.#socket.close(code, reason);
    this.#endSoon();
  }

  /** Closes the connection because the server stops, and waits for it. */
  async leave(reason: string): Promise<void> {
    if (this.#isOver) return;
    const closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.close(CLOSE.leaving, reason);
    await closed;
  }

  /** Terminates the connection if the peer does not close it. */
  #endSoon(): void {
    this.#isClosing = true;
    const cancel = this.#options.clock.after(CLOSING_MS, () => this.#socket.terminate());
    this.#socket.once("close", cancel);
  }

  #queue(data: RawData, isBinary: boolean): void {
    if (this.#isOver || this.#isClosing) return;
    if (isBinary) {
      this.#handlers.binary();
      return;
    }
    const bytes = bytesOf(data);
    const cost = bytes.length + FRAME_BYTES;
    this.#waitingBytes += cost;
    if (this.#waitingBytes > this.#options.limits.maxMessageBytes * 2) {
      this.close(CLOSE.policy, "too many messages are queued");
      return;
    }
    this.#taking = this.#taking
      .then(() => {
        const turn = this.#options.turn?.();
        return turn ? this.#handleLater(turn, bytes) : this.#handle(bytes);
      })
      // An error of a handler must not affect other connections.
      .catch(() => this.close(CLOSE.internal, "a frame could not be handled"))
      .finally(() => {
        this.#waitingBytes -= cost;
      });
  }

  #handle(bytes: Buffer): undefined | Promise<void> {
    return this.#isClosing ? undefined : this.#handlers.text(bytes.toString());
  }

  /** Reads no more from the peer until its text has its turn. */
  async #handleLater(turn: Promise<void>, bytes: Buffer): Promise<void> {
    this.#isWaiting = true;
    this.#socket.pause();
    try {
      await turn;
    } finally {
      this.#isWaiting = false;
      this.#answered = true;
      this.#socket.resume();
    }
    await this.#handle(bytes);
  }

  #flush(): void {
    const texts = this.#gathered;
    this.#gathered = [];
    this.#gatheredLength = 0;
    // No frame may follow the close frame.
    if (texts.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#options.line.write(textFrames(texts), () => this.#took());
  }

  /** Called when the socket has written a batch. */
  #took(): void {
    this.#taken = this.#now();
    if (this.#socket.bufferedAmount > this.#options.limits.maxBufferedBytes / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /**
   * Sends pings and checks that the peer reads and may stay. A stall must show twice, because there may have been
   * nothing to read.
   */
  #beat(before?: number): void {
    const { clock, limits } = this.#options;
    this.#cancelBeat = clock.after(Math.min(limits.keepAliveMs, limits.stallMs), () => {
      const waits = this.#socket.bufferedAmount > 0;
      const waited = this.#now() - this.#taken;
      const isStuck = waits && waited >= limits.stallMs && before === this.#taken;
      if (isStuck || (!this.#answered && !this.#isWaiting)) {
        this.#socket.terminate();
        return;
      }
      this.#answered = false;
      this.#socket.ping();
      void this.#handlers.mayStay().then((may) => {
        if (!may) this.close(CLOSE.policy, "the token was revoked or has expired");
      });
      this.#beat(waits ? this.#taken : undefined);
    });
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelBeat();
    this.#room?.resolve();
    this.#handlers.closed?.();
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

const FIN_TEXT = 0x81;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Encodes texts as unmasked frames (RFC 6455 §5.2) in one buffer, because many small writes are slow. */
export function textFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const total = lengths.reduce((sum, length) => sum + headLength(length) + length, 0);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    at = writeHead(bytes, at, length);
    at += bytes.write(texts[index] ?? "", at, length);
  }
  return bytes;
}

function headLength(length: number): number {
  if (length < LENGTH_16) return 2;
  return length <= 0xff_ff ? 4 : 10;
}

function writeHead(bytes: Buffer, at: number, length: number): number {
  const next = bytes.writeUInt8(FIN_TEXT, at);
  if (length < LENGTH_16) return bytes.writeUInt8(length, next);
  if (length <= 0xff_ff) return bytes.writeUInt16BE(length, bytes.writeUInt8(LENGTH_16, next));
  return bytes.writeBigUInt64BE(BigInt(length), bytes.writeUInt8(LENGTH_64, next));
}

/** A client on a WebSocket. */
interface WebSocketPeer {
  /** Closes the connection after flushing what was sent. */
  leave(reason: string): Promise<void>;
}

/** An authenticated upgrade. */
interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Accepts WebSockets up to a limit, and closes them together. */
export class WebSocketAcceptor {
  readonly #limits: Pick<GatewayLimits, "maxMessageBytes" | "maxStreams">;
  readonly #acceptor: WebSocketServer;
  readonly #headers = new WeakMap<IncomingMessage, string>();
  readonly #open = new Set<WebSocketPeer>();

  constructor(limits: Pick<GatewayLimits, "maxMessageBytes" | "maxStreams">) {
    this.#limits = limits;
    this.#acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: limits.maxMessageBytes,
      perMessageDeflate: false,
      // A subprotocol may contain a credential, so none is echoed.
      handleProtocols: () => false,
    });
    this.#acceptor.on("headers", (headers, request) => {
      const header = this.#headers.get(request);
      if (header !== undefined) headers.push(header);
    });
    this.#acceptor.on("wsClientError", ({ message }, socket) => {
      const headers = { "sec-websocket-version": "13" };
      closeWithProblem(socket, new HttpProblem("invalid", message, { headers }));
    });
  }

  /** Accepts an upgrade, with an additional response header. */
  accept(upgrade: Upgrade, create: (webSocket: WebSocket) => WebSocketPeer, header?: string): void {
    const { request, socket, head } = upgrade;
    if (this.#open.size >= this.#limits.maxStreams) {
      closeWithProblem(socket, new HttpProblem("unavailable", "too many WebSockets are open"));
      return;
    }
    if (header !== undefined) this.#headers.set(request, header);
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => {
      const peer = create(webSocket);
      this.#open.add(peer);
      webSocket.once("close", () => this.#open.delete(peer));
    });
  }

  /** Closes all connections. Their sessions and turns continue. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((peer) => peer.leave("Reins is stopping")));
  }
}
