import { isUtf8 } from "node:buffer";
import type { Clock } from "@reins/ahp";
import type { RawData, WebSocket } from "ws";
import type { GatewayLimits } from "../limits.ts";

/** What is done with what comes over a socket. */
export interface TextSocketHandlers {
  /** Takes a text; the next comes when the promise settles. Never rejects. */
  text(text: string): Promise<void>;
  /** Asked now and then whether whoever is connected still may be. Never rejects. */
  mayStay(): Promise<boolean>;
  /** Told when it is over. */
  closed(): void;
}

/** How it is served. */
export interface TextSocketOptions {
  readonly clock: Clock;
  readonly limits: Pick<GatewayLimits, "maxMessageBytes" | "maxBufferedBytes" | "keepAliveMs" | "stallMs">;
}

/** Why a socket is closed by us. */
const CLOSE = { leaving: 1001, unsupported: 1003, policy: 1008 } as const;
/** How long the other side may take to close. */
const CLOSING_MS = 2_000;

/** Texts over a WebSocket, both ways, one after the other: bounded, kept alive, and ended when nobody reads. */
export class TextSocket {
  readonly #socket: WebSocket;
  readonly #options: TextSocketOptions;
  readonly #handlers: TextSocketHandlers;
  #taking: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #taken: number;
  #room: PromiseWithResolvers<void> | undefined;
  #answered = true;
  #over = false;
  #callOffBeat: () => void = () => undefined;

  constructor(socket: WebSocket, options: TextSocketOptions, handlers: TextSocketHandlers) {
    this.#socket = socket;
    this.#options = options;
    this.#handlers = handlers;
    this.#taken = this.#now();
    socket.on("message", (data, isBinary) => this.#queue(data, isBinary));
    socket.on("pong", () => {
      this.#answered = true;
    });
    socket.on("error", () => socket.terminate());
    socket.once("close", () => this.#end());
    this.#beat();
  }

  /** Sends a text; a promise says that there is no room for more. What nobody reads any more is passed over. */
  send(text: string): undefined | Promise<void> {
    if (this.#over) return undefined;
    this.#socket.send(text, () => this.#took());
    if (this.#socket.bufferedAmount <= this.#options.limits.maxBufferedBytes) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Ends it; what was sent still arrives. */
  async leave(reason: string): Promise<void> {
    if (this.#over) return;
    const closed = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.#close(CLOSE.leaving, reason);
    await closed;
  }

  #queue(data: RawData, isBinary: boolean): void {
    if (this.#over) return;
    const bytes = bytesOf(data);
    if (isBinary || !isUtf8(bytes)) {
      this.#close(CLOSE.unsupported, "frames are text");
      return;
    }
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > this.#options.limits.maxMessageBytes * 2) {
      this.#close(CLOSE.policy, "too much waits to be taken");
      return;
    }
    this.#taking = this.#taking
      .then(() => this.#handlers.text(bytes.toString()))
      .finally(() => {
        this.#waitingBytes -= bytes.length;
      });
  }

  #took(): void {
    this.#taken = this.#now();
    if (this.#socket.bufferedAmount > this.#options.limits.maxBufferedBytes / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Looks now and then whether the other side lives, reads, and still may be here. */
  #beat(): void {
    const { clock, limits } = this.#options;
    this.#callOffBeat = clock.after(Math.min(limits.keepAliveMs, limits.stallMs), () => {
      const isStuck = this.#socket.bufferedAmount > 0 && this.#now() - this.#taken >= limits.stallMs;
      if (isStuck || !this.#answered) {
        this.#socket.terminate();
        return;
      }
      this.#answered = false;
      this.#socket.ping();
      void this.#handlers.mayStay().then((may) => {
        if (!may) this.#close(CLOSE.policy, "the token was revoked or has expired");
      });
      this.#beat();
    });
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const callOff = this.#options.clock.after(CLOSING_MS, () => this.#socket.terminate());
    this.#socket.once("close", callOff);
  }

  #end(): void {
    this.#over = true;
    this.#callOffBeat();
    this.#room?.resolve();
    this.#handlers.closed();
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
