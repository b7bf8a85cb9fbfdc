import { LoopbackServer } from "@reins/kit";

const MAX_PAGES = 1_000;

/** A site on loopback that agents are told to fetch from. It notes which of its pages somebody came for. */
export class TrialSite implements AsyncDisposable {
  readonly #server: LoopbackServer;
  readonly #visited = new Set<string>();

  private constructor(server: LoopbackServer) {
    this.#server = server;
    server.serve((request, response) => {
      if (this.#visited.size < MAX_PAGES) this.#visited.add(request.url ?? "/");
      request.resume();
      response.setHeader("content-type", "text/plain").end("Nothing to see here.\n");
    });
  }

  /** Opens one on a free port. */
  static async open(): Promise<TrialSite> {
    return new TrialSite(await LoopbackServer.listen());
  }

  /** Where a page is. */
  addressOf(page: string): string {
    return `${this.#server.url}/${page}`;
  }

  /** Whether somebody came for a page. */
  wasVisited(page: string): boolean {
    return this.#visited.has(`/${page}`);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
