import type { ServerProcess } from "../../system/fixtures/server-process/server-process.ts";
import { HttpLine } from "./http-line.ts";

type Json = Record<string, unknown>;

const PATH = "/v1/rpc";
const CONNECTION = "x-acp-connection-id";

/** Connections to `/v1/rpc` over one line. */
export class RpcLine {
  readonly line: HttpLine;
  readonly #workspace: string;
  #next = 1;

  constructor({ address, token, workspace }: Pick<ServerProcess, "address" | "token" | "workspace">) {
    this.line = new HttpLine(address, { authorization: `Bearer ${token}` });
    this.#workspace = workspace;
  }

  /** Says hello; gives the header that names the new connection. */
  async hello(agent = "stub"): Promise<Readonly<Record<string, string>>> {
    const params = { protocolVersion: 1, _meta: metaOf(agent) };
    const { headers } = await this.line.post(PATH, this.#message("initialize", params));
    return { [CONNECTION]: String(headers[CONNECTION]) };
  }

  /** Asks over a connection. */
  async ask(named: Readonly<Record<string, string>>, method: string, params: object): Promise<Json> {
    const { body } = await this.line.post(PATH, this.#message(method, params), named);
    if (body.error !== undefined) throw new Error(JSON.stringify(body.error));
    return Object(body.result);
  }

  /** Begins a session. */
  async begin(named: Readonly<Record<string, string>>, agent = "stub"): Promise<string> {
    const params = { cwd: this.#workspace, mcpServers: [], _meta: metaOf(agent) };
    const { sessionId } = await this.ask(named, "session/new", params);
    return String(sessionId);
  }

  /** Prompts a session. */
  async prompt(named: Readonly<Record<string, string>>, sessionId: string, text: string): Promise<void> {
    await this.ask(named, "session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** Reads the stream of a connection. */
  stream(named: Readonly<Record<string, string>>, take: (piece: Buffer) => void) {
    return this.line.stream(PATH, named, take);
  }

  close(): void {
    this.line.close();
  }

  #message(method: string, params: object): object {
    return { jsonrpc: "2.0", id: this.#next++, method, params };
  }
}

function metaOf(agent: string): object {
  return { "sandboxagent.dev": { agent } };
}
