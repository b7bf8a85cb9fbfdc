import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Served } from "@reins/ahp";
import type { Clock } from "@reins/kit";
import type { GatewayLimits } from "../limits.ts";
import { refusalOf } from "../problems/framework-problem.ts";
import { Refusal } from "../problems/refusal.ts";
import { comesBy, type Doorway } from "./doorway.ts";
import { hangUpWith } from "./hang-up-with.ts";
import { closeIdleConnections } from "./http-server.ts";

/** What a listener does with what arrives. */
export interface ListenerOptions {
  readonly doorway: Doorway;
  /** What it listens with; it does not listen yet. */
  readonly server: Server;
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
    const { limits, doorway, server } = options;
    this.#options = options;
    this.server = server;
    this.server.maxConnections = limits.maxConnections;
    this.server.on("connection", (socket: Socket) => {
      if (doorway.unknown?.take(socket) === false) {
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
      void options.upgrade(request, socket, head, doorway);
    });
    this.server.on("connect", ({ httpVersionMajor }: IncomingMessage, socket: Duplex) => {
      if (httpVersionMajor === 1) hangUpWith(socket, new Refusal("method_not_allowed", "this is no proxy"));
    });
    this.server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
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
    if (this.#closing && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    response.on("close", this.#answered);
    comesBy(request, this.#options.doorway);
    this.#options.request(request, response);
  }

  /** A connection that was kept open for more is not, once nothing more is taken. */
  readonly #answered = (): void => {
    if (this.#closing) setImmediate(() => closeIdleConnections(this.server));
  };

  async #close(): Promise<void> {
    const { clock, limits, doorway, closing } = this.#options;
    if (!this.server.listening) return;
    this.server.close();
    for (const stream of [...doorway.streams]) stream.end();
    const callOff = clock.after(limits.drainMs, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await closing();
    closeIdleConnections(this.server);
    await this.#closed.promise;
    callOff();
  }
}

/** What went wrong with HTTP that cannot be read. */
const FAULTS: Readonly<Record<string, "timeout" | "headers_too_large">> = {
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
};
