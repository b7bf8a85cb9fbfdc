import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { OriginRules, Served } from "@reins/ahp";
import type { Clock, SseWriter } from "@reins/kit";
import type { GatewayLimits } from "../limits.ts";
import { closeWithProblem, HttpProblem, httpProblem } from "../problems.ts";

/** A way in, and what is known of everybody who comes by it. */
export interface ListenerContext {
  /** Whether it is the operator: on the socket that only its user can open, and in this process. */
  readonly operator: boolean;
  /** Which names the server goes by here, and for which pages; absent where no browser comes. */
  readonly rules?: OriginRules | undefined;
  /** Whether it is encrypted. */
  readonly secure: boolean;
  /** Whether an answer may go on and on. */
  readonly streaming: boolean;
  /** The connections here on which nobody has shown a credential; absent where nobody has to. */
  readonly unknown?: UnauthenticatedConnections | undefined;
  /** The streams that are open here. */
  readonly streams: Set<SseWriter>;
}

const CAME_BY: unique symbol = Symbol("doorway");

declare module "node:http" {
  interface IncomingMessage {
    [CAME_BY]?: ListenerContext;
  }
}

/** The way in from this process itself. */
const inside: ListenerContext = { operator: true, secure: true, streaming: false, streams: new Set() };
const inProcessContext = new AsyncLocalStorage<ListenerContext>();

/** Notes by which context a request came. */
function setListenerContext(request: IncomingMessage, context: ListenerContext): void {
  request[CAME_BY] = context;
}

/** Has the requests that `run` makes come from this process itself. */
export function inProcess<Result>(run: () => Promise<Result>): Promise<Result> {
  return inProcessContext.run(inside, run);
}

/** The context by which a request came. Outside of this process nobody can set it. */
export function listenerContextOf(request: IncomingMessage): ListenerContext {
  const context = request[CAME_BY] ?? inProcessContext.getStore();
  if (context) return context;
  throw new Error("a request came by no doorway");
}

/** What a listener does with what arrives. */
export interface ListenerOptions {
  readonly context: ListenerContext;
  /** What it listens with; it does not listen yet. */
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
  /** Told when it takes nothing new; ends what only others can. */
  readonly closing: () => Promise<void>;
}

/** One server, on a port or a socket, whose requests come by one context. */
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
      if (context.unknown?.take(socket) === false) {
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

  /** How others see it, once it listens. */
  served(address: string): Served {
    return { address, closed: this.#closed.promise, close: () => this.close() };
  }

  /** The port it listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  /** Takes nothing new, ends streams, lets answers finish for a while, then ends. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#closing && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    response.on("close", this.#answered);
    setListenerContext(request, this.#options.context);
    this.#options.request(request, response);
  }

  /** A connection that was kept open for more is not, once nothing more is taken. */
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

/** What went wrong with HTTP that cannot be read. */
const FAULTS: Readonly<Record<string, "timeout" | "headers_too_large">> = {
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
};

type ConnectionLimits = Pick<GatewayLimits, "unknownConnections" | "unknownConnectionsPerAddress">;

/** One end of a connection, as a socket or the request on it tells. */
type End = Pick<Socket, "remoteAddress" | "remotePort">;

/** The connections on which nobody has shown a credential yet: few of one address, and not all that there may be. */
export class UnauthenticatedConnections {
  readonly #limits: ConnectionLimits;
  /** Their addresses, each by its end. */
  readonly #open = new Map<string, string>();
  readonly #perAddress = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Takes a new connection in; says whether there is room for it. */
  take(socket: Socket): boolean {
    const { unknownConnections, unknownConnectionsPerAddress } = this.#limits;
    const { remoteAddress: address } = socket;
    if (address === undefined) return true;
    const ofAddress = this.#perAddress.get(address) ?? 0;
    if (this.#open.size >= unknownConnections || ofAddress >= unknownConnectionsPerAddress) return false;
    const key = keyOf(socket);
    this.#open.set(key, address);
    this.#perAddress.set(address, ofAddress + 1);
    socket.once("close", () => this.#remove(key));
    return true;
  }

  /** Somebody has shown a credential on a connection. */
  isKnown(end: End): void {
    this.#remove(keyOf(end));
  }

  #remove(key: string): void {
    const address = this.#open.get(key);
    if (address === undefined) return;
    this.#open.delete(key);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}

function keyOf({ remoteAddress, remotePort }: End): string {
  return `${remoteAddress} ${remotePort}`;
}

/** How often connections are looked at that take too long. */
const CHECK_MS = 2_000;

/** How HTTP/1.1 is spoken, in the clear or not. */
export function httpSettings({ headersTimeoutMs, requestTimeoutMs }: GatewayLimits) {
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
    // The authenticator asks for it, and says so in the form that all problems have.
    requireHostHeader: false,
    // Who offers anything else, such as HTTP/2 in the clear, is answered as if it had not.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/** A server that speaks HTTP/1.1 in the clear. */
export function newHttpServer(limits: GatewayLimits): Server {
  return createServer(httpSettings(limits));
}

/** Ends connections of HTTP/1.1 that wait for another request; those of HTTP/2 end with their last answer. */
function closeIdleConnections(server: Server): void {
  // The types do not know that servers of HTTP/2 have it too.
  if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
    server.closeIdleConnections();
}
