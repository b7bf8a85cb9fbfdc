import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";

type Headers = Readonly<Record<string, string>>;

/** What was answered. */
export interface LineAnswer {
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
}

/** A client of HTTP with one connection that is kept, as cheap as Node makes it. */
export class HttpLine {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #address: URL;
  readonly #headers: Headers;
  readonly #streams = new Set<ClientRequest>();

  constructor(address: string, headers: Headers = {}) {
    this.#address = new URL(address);
    this.#headers = headers;
  }

  /** Posts a message. */
  async post(path: string, message: object, headers: Headers = {}): Promise<LineAnswer> {
    const text = JSON.stringify(message);
    const { hostname, port } = this.#address;
    const sent = request({
      hostname,
      port,
      path,
      method: "POST",
      agent: this.#agent,
      headers: {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(text)),
        ...this.#headers,
        ...headers,
      },
    });
    sent.end(text);
    const response = await answered(sent);
    const pieces: Buffer[] = [];
    response.on("data", (piece: Buffer) => void pieces.push(piece));
    await once(response, "end");
    const body = Buffer.concat(pieces).toString();
    if ((response.statusCode ?? 0) >= 300) throw new Error(`${response.statusCode} ${body}`);
    return { headers: response.headers, body: body === "" ? {} : JSON.parse(body) };
  }

  /** Reads a stream on a connection of its own. */
  async stream(path: string, headers: Headers, take: (piece: Buffer) => void): Promise<IncomingMessage> {
    const { hostname, port } = this.#address;
    const shown = { accept: "text/event-stream", ...this.#headers, ...headers };
    const sent = request({ hostname, port, path, agent: false, headers: shown });
    sent.on("error", () => undefined);
    sent.end();
    this.#streams.add(sent);
    const response = await answered(sent);
    if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`);
    response.on("error", () => undefined);
    response.on("data", take);
    return response;
  }

  close(): void {
    for (const sent of this.#streams) sent.destroy();
    this.#agent.destroy();
  }
}

async function answered(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = await once(sent, "response");
  return response;
}
