import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, BlockList, isIPv6 } from "node:net";
import { Duplex } from "node:stream";
import type { Clock } from "./async.ts";
import { ByteBuffer } from "./lines.ts";

/** Reads a body up to a limit; `undefined` if it is larger. Stops reading there, which closes a stream. */
export async function readLimited(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const body = new ByteBuffer();
  for await (const chunk of chunks) {
    if (body.length + chunk.length > maxBytes) return undefined;
    body.add(chunk);
  }
  return body.take();
}

/** The body of a request, or why it was refused: it is too large, or the caller has no room for it. */
export type RequestBody = { readonly bytes: Buffer } | { readonly fault: "too_large" | "busy" };

/** How long the rest of a refused body is read and discarded, so that its sender gets to read the response. */
const DISCARD_MS = 2_000;

/**
 * Reads the body of a request up to a limit, and while `hasRoom` accepts the next chunk. Rejects when the peer breaks
 * off.
 */
export function readRequestBody(
  request: IncomingMessage,
  maxBytes: number,
  clock: Clock,
  hasRoom: (bytes: number) => boolean = () => true,
): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const body = new ByteBuffer();
    let fault: "too_large" | "busy" | undefined;
    let cancel: (() => void) | undefined;
    const discard = (why: "too_large" | "busy") => {
      body.clear();
      fault ??= why;
      const refused = { fault };
      cancel ??= clock.after(DISCARD_MS, () => resolve(refused));
    };
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) discard("too_large");
    request.on("data", (chunk: Buffer) => {
      if (fault) return;
      if (body.length + chunk.length > maxBytes) discard("too_large");
      else if (!hasRoom(chunk.length)) discard("busy");
      else body.add(chunk);
    });
    request.on("end", () => {
      cancel?.();
      resolve(fault ? { fault } : { bytes: body.take() });
    });
    // Errors after the end are ignored.
    request.on("error", (error) => {
      cancel?.();
      reject(error);
    });
    request.on("close", () => {
      if (request.readableEnded) return;
      cancel?.();
      reject(new Error("the request was cut off"));
    });
  });
}

/** How a stream treats a reader that does not read. */
export interface StreamLimits {
  readonly keepAliveMs: number;
  readonly maxBufferedBytes: number;
  readonly stallMs: number;
}

const KEEP_ALIVE = ": alive\n\n";

/**
 * Sends server-sent events to one reader, with back-pressure. A reader that stops reading costs bounded memory for a
 * bounded time and is then dropped.
 */
export class SseWriter {
  /** Aborts when the reader has gone, was dropped, or the stream was ended. */
  readonly closed: AbortSignal;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #end = new AbortController();
  /** When the reader last took something. */
  #taken: number;
  #drained: PromiseWithResolvers<void> | undefined;
  /** Text that is written together at the end of this tick. */
  #pending = "";
  #onKeepAlive: () => void = () => {};
  #cancelKeepAlive: () => void = () => {};

  constructor(response: ServerResponse, clock: Clock, limits: StreamLimits, headers: OutgoingHttpHeaders) {
    this.#response = response;
    this.#clock = clock;
    this.#limits = limits;
    this.#taken = clock.now().getTime();
    this.closed = this.#end.signal;
    if (isClosed(response)) {
      this.#close();
      return;
    }
    response.once("close", () => this.#close());
    response.on("drain", () => this.#resume());
    response.on("error", () => response.destroy());
    response.writeHead(200, { "content-type": "text/event-stream", ...headers });
    response.flushHeaders();
    this.#keepAlive();
  }

  /** Sends text; resolves when there is room for more, to whether the stream is still open. */
  async send(text: string): Promise<boolean> {
    if (this.closed.aborted) return false;
    this.#flush();
    const hasRoom = this.#write(text);
    if (hasRoom || this.#response.writableLength <= this.#limits.maxBufferedBytes) return true;
    await this.#room();
    return !this.closed.aborted;
  }

  /** Sends text together with the rest of this tick. Returns a promise if the caller should wait for room. */
  push(text: string): undefined | Promise<void> {
    if (this.closed.aborted) return undefined;
    if (this.#pending === "") queueMicrotask(() => this.#flush());
    this.#pending += text;
    if (this.#response.writableLength + this.#pending.length <= this.#limits.maxBufferedBytes)
      return undefined;
    this.#flush();
    return this.#response.writableNeedDrain ? this.#room() : undefined;
  }

  /** Calls a listener at every keep-alive, so that a writer can check whether it should still send. */
  onKeepAlive(listener: () => void): void {
    this.#onKeepAlive = listener;
  }

  /** Ends the stream; a reader still receives what was sent. */
  end(): void {
    if (this.closed.aborted) return;
    this.#flush();
    this.#close();
    this.#response.end();
    const cancel = this.#clock.after(this.#limits.stallMs, () => this.#response.destroy());
    this.#response.once("close", cancel);
  }

  #room(): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #resume(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  #flush(): void {
    const text = this.#pending;
    if (text === "") return;
    this.#pending = "";
    if (!this.closed.aborted) this.#write(text);
  }

  #write(text: string): boolean {
    return this.#response.write(text, () => {
      this.#taken = this.#clock.now().getTime();
    });
  }

  /** Drops a stalled reader only when two checks in a row find it stalled: this process may have been suspended. */
  #keepAlive(takenBefore?: number): void {
    const { keepAliveMs, stallMs } = this.#limits;
    this.#cancelKeepAlive = this.#clock.after(Math.min(keepAliveMs, stallMs), () => {
      const isWaiting = this.#response.writableLength > 0;
      const idleMs = this.#clock.now().getTime() - this.#taken;
      if (isWaiting && idleMs >= stallMs && takenBefore === this.#taken) {
        this.#response.destroy();
        return;
      }
      if (!isWaiting && idleMs >= keepAliveMs) this.#write(KEEP_ALIVE);
      this.#onKeepAlive();
      this.#keepAlive(isWaiting ? this.#taken : undefined);
    });
  }

  #close(): void {
    this.#cancelKeepAlive();
    this.#end.abort();
    this.#resume();
  }
}

/** Whether a response has ended, or its reader has gone. */
export function isClosed(response: ServerResponse): boolean {
  if (response.closed) return true;
  // A response over HTTP/2 does not report it; the stream below does.
  return "stream" in response && response.stream instanceof Duplex && response.stream.closed;
}

/** What is left of something that may be done so often in a time. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly windowMs: number;
  /** When all of it is there again. */
  readonly resetMs: number;
}

/** What is left of a rate, as headers (draft-ietf-httpapi-ratelimit-headers). */
export function rateHeaders(name: string, state: RateState): Readonly<Record<string, string>> {
  const { limit, remaining, windowMs, resetMs } = state;
  return {
    "ratelimit-policy": `"${name}";q=${limit};w=${windowMs / 1_000}`,
    ratelimit: `"${name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`,
  };
}

const LOOPBACK = "127.0.0.1";

/** A web server for programs of this machine, on a port that was free. */
export class LoopbackServer {
  readonly port: number;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Listens on a free port of loopback; nothing is answered before {@link serve}. */
  static async listen(): Promise<LoopbackServer> {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, "listening");
    return new LoopbackServer(server, portOf(server.address()));
  }

  /** Where it is reached, without a slash at the end. */
  get url(): string {
    return `http://${LOOPBACK}:${this.port}`;
  }

  /** Answers requests from now on. */
  serve(answer: RequestListener): void {
    this.#server.on("request", answer);
  }

  /** Stops listening and hangs up on everybody. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address !== null && typeof address !== "string") return address.port;
  throw new Error(`A server on ${LOOPBACK} has no port.`);
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Whether only this machine can reach a host, also in the form of a URL. Names other than `localhost` may mean
 * anything.
 */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
