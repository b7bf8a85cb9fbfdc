import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Channel, ExchangeOptions, Outgoing, Reply } from "../channel.ts";
import { Inbox } from "./inbox.ts";
import { Lines } from "./lines.ts";

/** Between the pieces of one message, so that they arrive apart. */
const PIECE_MS = 5;
const LF = Buffer.from("\n");

/** A pipe of lines: the two ends, and how to be rid of it. */
export interface Pipe {
  readonly writable: Writable;
  readonly readable: Readable;
  /** Resolves with how it ended. */
  readonly over: Promise<string>;
  /** Ends it at once. */
  destroy(): void;
  /** Ends it in good order, then at once. */
  close(): Promise<void>;
}

/** One JSON document per line, as stdio and Unix sockets carry them. */
export class LineChannel<Transport extends "stdio" | "unix"> implements Channel {
  readonly transport: Transport;
  readonly #pipe: Pipe;
  readonly #inbox = new Inbox();

  constructor(transport: Transport, pipe: Pipe) {
    this.transport = transport;
    this.#pipe = pipe;
    const lines = new Lines();
    pipe.readable.on("data", (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) if (line.trim() !== "") this.#inbox.deliver(line);
      } catch (error) {
        this.#inbox.end(String(error));
        pipe.destroy();
      }
    });
    pipe.over.then((how) => this.#inbox.end(how));
  }

  get ended(): string | undefined {
    return this.#inbox.ended;
  }

  get noise(): readonly string[] {
    return this.#inbox.noise;
  }

  async send(message: Outgoing): Promise<void> {
    if (typeof message === "string" || Buffer.isBuffer(message)) {
      return this.write(Buffer.concat([Buffer.from(message), LF]));
    }
    for (const piece of [...message, LF]) {
      await this.write(piece);
      await delay(PIECE_MS);
    }
  }

  async exchange(message: Outgoing, { id, waitMs }: ExchangeOptions): Promise<Reply> {
    const answer = this.#inbox.next(id, waitMs);
    await this.#within(waitMs, this.send(message));
    return this.#reply(await answer);
  }

  /** Writes bytes as they are, without ending the line. */
  write(bytes: Buffer): Promise<void> {
    const written = new Promise<void>((resolve) => this.#pipe.writable.write(bytes, () => resolve()));
    return Promise.race([written, this.#pipe.over.then(() => {})]);
  }

  /** Waits for the answer under that id, whoever asked for it. */
  async next(id: string, waitMs: number): Promise<Reply> {
    return this.#reply(await this.#inbox.next(id, waitMs));
  }

  /** Says that nothing more will be sent, and keeps listening. */
  finish(): void {
    this.#pipe.writable.end();
  }

  /** How the connection ended; absent when it has not after `waitMs`. */
  ending(waitMs: number): Promise<string | undefined> {
    return this.#within(waitMs, this.#pipe.over);
  }

  unclaimed(): readonly string[] {
    return this.#inbox.unclaimed();
  }

  begin(beginning: Buffer): Promise<void> {
    return this.write(beginning);
  }

  async vanish(): Promise<void> {
    this.#pipe.destroy();
    await this.#pipe.over;
  }

  async close(): Promise<void> {
    await this.#pipe.close();
  }

  #reply(text: string | undefined): Reply {
    const { ended } = this;
    return text === undefined && ended !== undefined ? { text, ended } : { text };
  }

  async #within<Value>(waitMs: number, promise: Promise<Value>): Promise<Value | undefined> {
    const timer = new AbortController();
    const late = delay(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
    try {
      return await Promise.race([promise, late]);
    } finally {
      timer.abort();
    }
  }
}
