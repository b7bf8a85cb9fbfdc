import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createSecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { OriginRules, Served } from "@reins/ahp";
import { PROBLEM_TYPE } from "@reins/api";
import type { Clock, SseWriter } from "@reins/kit";
import type { GatewayLimits } from "../limits.ts";
import { closeWithProblem, HttpProblem, httpProblem, SECURITY_HEADERS } from "../problems.ts";
import { Usage } from "./request.ts";

/** What is known about every request of one listener. */
export interface ListenerContext {
  /** Whether its clients are the operator: on the private socket, and in this process. */
  readonly operator: boolean;
  /** Whether its clients are other nodes, which pass on what they were asked. */
  readonly link?: boolean;
  /** Allowed hosts and origins; absent where no browser connects. */
  readonly rules?: OriginRules | undefined;
  /** Whether it uses TLS. */
  readonly secure: boolean;
  /** Whether responses can be streams. */
  readonly streaming: boolean;
  /** Unauthenticated connections; absent where clients need no credential. */
  readonly unauthenticated?: UnauthenticatedConnections | undefined;
  /** Open streams. */
  readonly streams: Set<SseWriter>;
}

const LISTENER: unique symbol = Symbol("listener");

declare module "node:http" {
  interface IncomingMessage {
    [LISTENER]?: ListenerContext;
  }
}

/** The context of requests of this process. */
const inside: ListenerContext = { operator: true, secure: true, streaming: false, streams: new Set() };
const inProcessContext = new AsyncLocalStorage<ListenerContext>();

/** Attaches the context of a listener to a request. */
function setListenerContext(request: IncomingMessage, context: ListenerContext): void {
  request[LISTENER] = context;
}

/** Runs a function whose requests are those of this process. */
export function inProcess<Result>(run: () => Promise<Result>): Promise<Result> {
  return inProcessContext.run(inside, run);
}

/** The context of a request. Clients cannot set it. */
export function listenerContextOf(request: IncomingMessage): ListenerContext {
  const context = request[LISTENER] ?? inProcessContext.getStore();
  if (context) return context;
  throw new Error("the request has no listener context");
}

export interface ListenerOptions {
  readonly context: ListenerContext;
  /** The server, not yet listening. */
  readonly server: Server;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly request: (request: IncomingMessage, response: ServerResponse) => void;
  readonly upgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    context: ListenerContext,
  ) => Promise<void>;
  /** Called after it stops accepting; closes what the listener does not own. */
  readonly closing: () => Promise<void>;
}

/** One server on a port or a socket. */
export class Listener {
  readonly server: Server;
  readonly #options: ListenerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #closed = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    const { limits, context, server } = options;
    this.#options = options;
    this.server = server;
    this.server.maxConnections = limits.maxConnections;
    this.server.on("connection", (socket: Socket) => {
      if (context.unauthenticated?.add(socket) === false) {
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    const take = (request: IncomingMessage, response: ServerResponse) => this.#take(request, response);
    this.server.on("request", take);
    this.server.on("checkExpectation", take);
    this.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void options.upgrade(request, socket, head, context);
    });
    this.server.on("connect", ({ httpVersionMajor }: IncomingMessage, socket: Duplex) => {
      if (httpVersionMajor === 1)
        closeWithProblem(socket, new HttpProblem("method_not_allowed", "this is no proxy"));
    });
    this.server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      closeWithProblem(socket, httpProblem(FAULTS[error.code ?? ""] ?? "invalid", error));
    });
    this.server.once("close", () => this.#closed.resolve());
  }

  served(address: string): Served {
    return { address, closed: this.#closed.promise, close: () => this.close() };
  }

  /** The port it listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  /** Stops accepting, ends streams, and waits for running requests for a while. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#closing && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    response.on("close", this.#answered);
    cutOffUnread(response, this.#options.limits.stallMs);
    if (request.httpVersionMajor === 1 && hasBody(request)) this.#expectArrival(request, response);
    setListenerContext(request, this.#options.context);
    this.#options.request(request, response);
  }

  /** Closes the connection of a request that takes too long to arrive, also once it is answered. */
  #expectArrival(request: IncomingMessage, response: ServerResponse): void {
    const { clock, limits } = this.#options;
    const cancel = clock.after(limits.requestTimeoutMs, () => {
      if (response.headersSent) request.socket.destroy();
      else closeWithProblem(request.socket, httpProblem("timeout"));
    });
    arrivals.set(request, cancel);
    request.once("end", cancel);
    request.once("close", cancel);
    response.once("close", () => {
      if (request.complete || request.destroyed) return;
      request.once(
        "close",
        clock.after(limits.stallMs, () => request.destroy()),
      );
    });
  }

  /** Closes kept-alive connections once the listener is closing. */
  readonly #answered = (): void => {
    if (this.#closing) setImmediate(() => closeIdleConnections(this.server));
  };

  async #close(): Promise<void> {
    const { clock, limits, context, closing } = this.#options;
    if (!this.server.listening) return;
    this.server.close();
    for (const stream of [...context.streams]) stream.end();
    const cancel = clock.after(limits.drainMs, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await closing();
    closeIdleConnections(this.server);
    await this.#closed.promise;
    cancel();
  }
}

/**
 * Ends the connection, over HTTP/2 the stream, of a client that takes nothing of its response for a while. Node begins to
 * count anew with whatever is taken. Two looks in a row have to find it so: this process may have been suspended.
 */
function cutOffUnread(response: ServerResponse, milliseconds: number): void {
  let wasWaiting = false;
  response.on("drain", () => {
    wasWaiting = false;
  });
  response.on("timeout", () => {
    const isWaiting = response.writableLength > 0;
    if (isWaiting && wasWaiting) response.destroy();
    else response.setTimeout(milliseconds / 2);
    wasWaiting = isWaiting;
  });
  response.setTimeout(milliseconds / 2);
}

/** What cancels the timeout for the arrival of each request. */
const arrivals = new WeakMap<object, () => void>();

/** Lets a request take as long to arrive as its handler lets it. */
export function liftArrivalTimeout(request: object): void {
  arrivals.get(request)?.();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** The problem for each error of the HTTP parser. */
const FAULTS: Readonly<Record<string, "timeout" | "headers_too_large">> = {
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
};

type ConnectionLimits = Pick<GatewayLimits, "unknownConnections" | "unknownConnectionsPerAddress">;

/** One end of a connection. */
type End = Pick<Socket, "remoteAddress" | "remotePort">;

/** Unauthenticated connections: limited in total and per address. */
export class UnauthenticatedConnections {
  readonly #limits: ConnectionLimits;
  /** Addresses by remote end. */
  readonly #open = new Map<string, string>();
  readonly #perAddress = new Usage();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Adds a connection; returns whether it is within the limits. */
  add(socket: Socket): boolean {
    const { unknownConnections, unknownConnectionsPerAddress } = this.#limits;
    const { remoteAddress: address } = socket;
    if (address === undefined) return true;
    if (this.#open.size >= unknownConnections || this.#perAddress.of(address) >= unknownConnectionsPerAddress)
      return false;
    const key = keyOf(socket);
    this.#open.set(key, address);
    this.#perAddress.add(address);
    socket.once("close", () => this.#remove(key));
    return true;
  }

  /** Removes a connection that has authenticated. */
  remove(end: End): void {
    this.#remove(keyOf(end));
  }

  #remove(key: string): void {
    const address = this.#open.get(key);
    if (address === undefined) return;
    this.#open.delete(key);
    this.#perAddress.add(address, -1);
  }
}

function keyOf({ remoteAddress, remotePort }: End): string {
  return `${remoteAddress} ${remotePort}`;
}

/** How often slow connections are checked. */
const CHECK_MS = 2_000;

/** Settings of HTTP/1.1, with and without TLS. */
export function httpSettings({ headersTimeoutMs }: GatewayLimits) {
  return {
    headersTimeout: headersTimeoutMs,
    // Each request has its own, which its handler can lift.
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    // The authenticator rejects its absence with a problem.
    requireHostHeader: false,
    // Other upgrades, such as h2c, are ignored.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/** Creates an HTTP/1.1 server. */
export function newHttpServer(limits: GatewayLimits): Server {
  return createServer(httpSettings(limits));
}

/** Closes idle HTTP/1.1 connections; those of HTTP/2 end with their last response. */
function closeIdleConnections(server: Server): void {
  // Node's types lack it for HTTP/2 servers.
  if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
    server.closeIdleConnections();
}

/** Certificate and key in PEM. */
export interface Tls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** The most concurrent requests on an HTTP/2 connection. */
const STREAMS = 256;

/**
 * Creates a TLS server for HTTP/2 and 1.1. Over HTTP/2, requests and responses are the compatibility objects of
 * `node:http2`.
 */
export function newTlsServer(tls: Tls, limits: GatewayLimits, clock: Clock): Server {
  const settings = httpSettings(limits);
  const server = createSecureServer({
    ...tls,
    ...settings,
    allowHTTP1: true,
    handshakeTimeout: limits.headersTimeoutMs,
    settings: { maxConcurrentStreams: STREAMS },
  });
  // Node reads this setting only from the server object.
  Object.assign(server, { shouldUpgradeCallback: settings.shouldUpgradeCallback });
  server.on("session", (session) => endIdle(session, limits.requestTimeoutMs));
  server.on("connect", (_, response) => {
    if (response instanceof Http2ServerResponse)
      answerWith(response, new HttpProblem("method_not_allowed", "this is no proxy"));
  });
  for (const event of ["request", "checkExpectation"])
    server.on(event, (request: unknown) => {
      if (request instanceof Http2ServerRequest) adapt(request, limits.requestTimeoutMs, clock);
    });
  return server;
}

/** Closes an HTTP/2 connection after an idle timeout. */
function endIdle(session: ServerHttp2Session, milliseconds: number): void {
  let underWay = 0;
  session.on("stream", (stream) => {
    underWay += 1;
    stream.once("close", () => {
      underWay -= 1;
    });
  });
  session.setTimeout(milliseconds);
  session.on("timeout", () => {
    if (underWay === 0) session.close();
  });
}

/** Adds to an HTTP/2 request what Node does only for HTTP/1.1: the host header and a timeout for its arrival. */
function adapt(request: Http2ServerRequest, milliseconds: number, clock: Clock): void {
  const { headers, stream } = request;
  const authority = headers[":authority"];
  if (typeof authority === "string") headers.host = authority;
  // The reader of the body gets the error.
  request.on("error", () => undefined);
  if (stream.endAfterHeaders) return;
  const cancel = clock.after(milliseconds, () => request.destroy(httpProblem("timeout")));
  arrivals.set(request, cancel);
  request.once("end", cancel);
  stream.once("close", cancel);
}

function answerWith(response: Http2ServerResponse, { problem, headers }: HttpProblem): void {
  response.writeHead(problem.status, { ...SECURITY_HEADERS, ...headers, "content-type": PROBLEM_TYPE });
  response.end(JSON.stringify(problem));
}
