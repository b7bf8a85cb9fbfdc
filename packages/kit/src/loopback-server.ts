import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

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
