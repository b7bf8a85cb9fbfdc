import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock, Served } from "@reins/ahp";
import type { GatewayLimits } from "../limits.ts";
import { refusalOf } from "../problems/framework-problem.ts";
import { Refusal } from "../problems/refusal.ts";
import { type Doorway, doorways } from "./doorway.ts";
import { hangUpWith } from "./hang-up-with.ts";

/** Certificate and key in PEM. */
export interface Tls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** What a listener does with what arrives. */
export interface ListenerOptions {
  readonly doorway: Doorway;
  readonly tls?: Tls | undefined;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly request: (request: IncomingMessage, response: ServerResponse) => void;
  readonly upgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    doorway: Doorway,
  ) => Promise<void>;
  /** Told when it takes nothing new; ends what only others can. */
  readonly closing: () => Promise<void>;
}

/** One server, on a port or a socket, whose requests come by one doorway. */
export class Listener {
  readonly server: Server;
  readonly #options: ListenerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #closed = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    const { tls, limits, doorway } = options;
    this.#options = options;
    const settings = {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: CHECK_MS,
      // The gatekeeper asks for it, and says so in the form that all problems have.
      requireHostHeader: false,
      // Who offers anything else, such as HTTP/2 in the clear, is answered as if it had not.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
    };
    this.server = tls
      ? createTlsServer({ ...tls, ...settings, handshakeTimeout: limits.headersTimeoutMs })
      : createServer(settings);
    this.server.maxConnections = limits.maxConnections;
    this.server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.server.on("request", (request, response) => this.#take(request, response));
    this.server.on("checkExpectation", (request, response) => this.#take(request, response));
    this.server.on("upgrade", (request, socket, head) => {
      void options.upgrade(request, socket, head, doorway);
    });
    this.server.on("connect", (_request, socket) => {
      hangUpWith(socket, new Refusal("method_not_allowed", "this is no proxy"));
    });
    this.server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      hangUpWith(socket, refusalOf(FAULTS[error.code ?? ""] ?? "invalid", error));
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
    if (this.#closing) response.setHeader("connection", "close");
    response.once("close", () => this.#answered());
    doorways.run(this.#options.doorway, () => this.#options.request(request, response));
  }

  /** A connection that was kept open for more is not, once nothing more is taken. */
  #answered(): void {
    if (this.#closing) setImmediate(() => this.server.closeIdleConnections());
  }

  async #close(): Promise<void> {
    const { clock, limits, doorway, closing } = this.#options;
    if (!this.server.listening) return;
    this.server.close();
    for (const stream of [...doorway.streams]) stream.end();
    const callOff = clock.after(limits.drainMs, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await closing();
    this.server.closeIdleConnections();
    await this.#closed.promise;
    callOff();
  }
}

/** How often connections are looked at that take too long. */
const CHECK_MS = 2_000;

/** What went wrong with HTTP that cannot be read. */
const FAULTS: Readonly<Record<string, "timeout" | "headers_too_large">> = {
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
};
