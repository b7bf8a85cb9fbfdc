import { once } from "node:events";
import { createServer, type Server } from "node:http";

const MAX_PAGES = 1_000;

/** A site on loopback that agents are told to fetch from. It notes which of its pages somebody came for. */
export class TrialSite implements AsyncDisposable {
  readonly #server: Server;
  readonly #port: number;
  readonly #visited = new Set<string>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on("request", (request, response) => {
      if (this.#visited.size < MAX_PAGES) this.#visited.add(request.url ?? "/");
      request.resume();
      response.setHeader("content-type", "text/plain").end("Nothing to see here.\n");
    });
  }

  /** Opens one on a free port. */
  static async open(): Promise<TrialSite> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string")
      throw new Error("The site of the trial has no port.");
    return new TrialSite(server, address.port);
  }

  /** Where a page is. */
  addressOf(page: string): string {
    return `http://127.0.0.1:${this.#port}/${page}`;
  }

  /** Whether somebody came for a page. */
  wasVisited(page: string): boolean {
    return this.#visited.has(`/${page}`);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
