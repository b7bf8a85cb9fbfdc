import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A minimal agent that speaks ACP: it answers `initialize` and `session/new`, with modes. */
export function acpProgram(version: string): string {
  return `#!/usr/bin/env node
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const results = {
    initialize: { protocolVersion: 1, agentInfo: { name: "tiny", version: ${JSON.stringify(version)} }, agentCapabilities: { loadSession: true } },
    "session/new": { sessionId: "s", modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] } },
  };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
});
`;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A registry of agents on loopback, and a host for what it names. */
export class AgentRegistryServer implements AsyncDisposable {
  /** The paths that were asked for, in order. */
  readonly requests: string[] = [];
  /** The agents of `/registry.json`. */
  agents: unknown[] = [];
  /** What other paths answer. */
  readonly files = new Map<string, Uint8Array | Answer>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(): Promise<AgentRegistryServer> {
    const server = createServer();
    const registry = new AgentRegistryServer(server);
    server.on("request", (request, response) => registry.#answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return registry;
  }

  get origin(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  get url(): string {
    return `${this.origin}/registry.json`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "";
    this.requests.push(path);
    const file = this.files.get(path);
    if (typeof file === "function") file(request, response);
    else if (file) response.writeHead(200).end(file);
    else if (path !== "/registry.json") response.writeHead(404).end();
    else {
      const body = JSON.stringify({ version: "1.0.0", agents: this.agents });
      const etag = `"${Buffer.from(body).toString("base64url").slice(-64)}"`;
      const isKnown = request.headers["if-none-match"] === etag;
      response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? undefined : body);
    }
  }
}
