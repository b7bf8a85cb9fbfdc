import { randomBytes } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

const TEXT = 0x81;
const PING = 0x89;
const PONG = 0x8a;
const MASKED = 0x80;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

/** A client of WebSocket as cheap as Node makes it, as the one of HTTP is: what is measured is the server. */
export class WebSocketLine {
  readonly #socket: Duplex;
  readonly #take: (message: Buffer) => void;
  #rest: Buffer;

  private constructor(socket: Duplex, head: Buffer, take: (message: Buffer) => void) {
    this.#socket = socket;
    this.#take = take;
    this.#rest = head;
    socket.on("data", (piece: Buffer) => this.#read(piece));
  }

  /** Opens a connection; `take` gets every message. */
  static async open(
    address: string,
    headers: Readonly<Record<string, string>>,
    take: (message: Buffer) => void,
  ): Promise<WebSocketLine> {
    const sent = request(address, {
      headers: {
        ...headers,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
      },
    });
    sent.end();
    const [, socket, head]: [IncomingMessage, Duplex, Buffer] = await upgraded(sent);
    return new WebSocketLine(socket, head, take);
  }

  /** Sends a message. */
  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  /** Writes a frame. Its mask is all zeros, so that nothing has to be masked. */
  #write(kind: number, payload: Buffer): void {
    const short = payload.length < TWO_BYTES;
    const head = Buffer.alloc(short ? 6 : 8);
    head[0] = kind;
    head[1] = MASKED | (short ? payload.length : TWO_BYTES);
    if (!short) head.writeUInt16BE(payload.length, 2);
    this.#socket.write(Buffer.concat([head, payload]));
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(piece: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece;
    let at = 0;
    while (bytes.length - at >= 2) {
      const short = (bytes[at + 1] ?? 0) & 0x7f;
      const begin = at + (short === EIGHT_BYTES ? 10 : short === TWO_BYTES ? 4 : 2);
      if (begin > bytes.length) break;
      const end = begin + lengthAt(bytes, at, short);
      if (end > bytes.length) break;
      if (bytes[at] === TEXT) this.#take(bytes.subarray(begin, end));
      // A client that does not respond counts as disconnected.
      if (bytes[at] === PING) this.#write(PONG, bytes.subarray(begin, end));
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}

function upgraded(sent: ClientRequest): Promise<[IncomingMessage, Duplex, Buffer]> {
  return new Promise((resolve, reject) => {
    sent.once("upgrade", (response, socket, head) => resolve([response, socket, head]));
    sent.once("response", ({ statusCode }) =>
      reject(new Error(`no WebSocket: the server says ${statusCode}`)),
    );
    sent.once("error", reject);
  });
}

function lengthAt(bytes: Buffer, at: number, short: number): number {
  if (short === EIGHT_BYTES) return Number(bytes.readBigUInt64BE(at + 2));
  return short === TWO_BYTES ? bytes.readUInt16BE(at + 2) : short;
}
