import type { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";
import type { RawData, WebSocket } from "ws";
import type { GatewayLimits } from "../limits.ts";

/** What is done with what comes over a socket. */
export interface TextSocketHandlers {
  /** Takes a text; the next comes when the promise settles. Never rejects. */
  text(text: string): Promise<void>;
  /** Told of a frame that is no text. */
  binary(): void;
  /** Asked now and then whether whoever is connected still may be. Never rejects. */
  mayStay(): Promise<boolean>;
  /** Told when it is over. */
  closed?(): void;
}

/** How it is served. */
export interface TextSocketOptions {
  readonly clock: Clock;
  readonly limits: Pick<GatewayLimits, "maxMessageBytes" | "maxBufferedBytes" | "keepAliveMs" | "stallMs">;
  /** The connection below the WebSocket. */
  readonly line: Pick<Duplex, "write">;
}

/** Why a WebSocket is closed by us. */
export const CLOSE = {
  leaving: 1001,
  protocol: 1002,
  unsupported: 1003,
  policy: 1008,
  internal: 1011,
} as const;
/** How long the other side may take to close. */
const CLOSING_MS = 2_000;
/** What a frame that waits costs beside what is in it. */
const FRAME_BYTES = 256;

/** Texts over a WebSocket, both ways, one after the other: bounded, kept alive, and ended when nobody reads. */
export class TextSocket {
  readonly #socket: WebSocket;
  readonly #options: TextSocketOptions;
  readonly #handlers: TextSocketHandlers;
  #taking: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  /** When the other side last took something, and the room that somebody waits for. */
  #taken: number;
  #room: PromiseWithResolvers<void> | undefined;
  /** What goes out together, once nothing more is said in this turn of the event loop. */
  #gathered: string[] = [];
  #gatheredLength = 0;
  #answered = true;
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
    // A frame that is too large, or broken, is answered with its code, for which the other side has to read what was sent.
    socket.on("error", () => this.#endSoon());
    socket.once("close", () => this.#end());
    this.#beat();
  }

  /** Whether the other side has gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends a text; a promise says that there is no room for more. What nobody reads any more is passed over. */
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

  /** Closes it; what was sent still arrives, and what comes is heard no more. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#flush();
    this.#socket.close(code, reason);
    this.#endSoon();
  }

  /** Closes it because we go, and waits until it is over. */
  async leave(reason: string): Promise<void> {
    if (this.#isOver) return;
    const closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.close(CLOSE.leaving, reason);
    await closed;
  }

  /** Ends it even if the other side does not. */
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
      this.close(CLOSE.policy, "too much waits to be taken");
      return;
    }
    this.#taking = this.#taking
      .then(() => (this.#isClosing ? undefined : this.#handlers.text(bytes.toString())))
      // What a frame does to its handler concerns its own connection, never the process.
      .catch(() => this.close(CLOSE.internal, "a frame could not be taken"))
      .finally(() => {
        this.#waitingBytes -= cost;
      });
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
    if (this.#socket.bufferedAmount > this.#options.limits.maxBufferedBytes / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /**
   * Looks now and then whether the other side lives, reads, and still may be here. Whether it reads is looked at twice:
   * there may have been nothing to read until just now.
   */
  #beat(before?: number): void {
    const { clock, limits } = this.#options;
    this.#cancelBeat = clock.after(Math.min(limits.keepAliveMs, limits.stallMs), () => {
      const waits = this.#socket.bufferedAmount > 0;
      const waited = this.#now() - this.#taken;
      const isStuck = waits && waited >= limits.stallMs && before === this.#taken;
      if (isStuck || !this.#answered) {
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

/**
 * Texts as frames of a server, each whole and unmasked (RFC 6455 §5.2), one after the other in one piece: thousands of
 * small writes would cost more than everything else.
 */
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
