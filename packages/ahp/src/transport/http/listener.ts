import { isUtf8 } from "node:buffer";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type RequestBody, readRequestBody } from "@reins/kit";
import { Refusal, RPC } from "../../errors.ts";
import type { Peer } from "../../server/handlers.ts";
import { errorText } from "../../server/message.ts";
import type { AhpServer } from "../../server/server.ts";
import { type Authenticator, credentialInHeaders, type OriginRules, originFault } from "../auth.ts";
import { InFlight, type Limits } from "../limits.ts";
import type { Admitted } from "./serve.ts";

/** The header that carries the token of a handshake over HTTP. */
export const SESSION_HEADER = "ahp-session-token";

/** Authentication and limits. */
export interface HttpListenerOptions extends OriginRules {
  readonly authenticate?: Authenticator | undefined;
  readonly limits: Limits;
  /** Messages in flight, shared with other listeners. */
  readonly inFlight?: InFlight;
  readonly refusal?: RefusalBody | undefined;
}

/** The response to a request. */
interface Reply {
  readonly status: number;
  readonly body?: string | undefined;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers `POST`s of one message each; the path has been looked at already. */
export class HttpListener {
  readonly #server: AhpServer;
  readonly #options: HttpListenerOptions;
  readonly #inFlight: InFlight;

  constructor(server: AhpServer, options: HttpListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.#inFlight = options.inFlight ?? new InFlight(options.limits);
  }

  /** Answers one request, without authentication if it is admitted already. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, admitted?: Admitted): Promise<void> {
    try {
      const left = new AbortController();
      response.once("close", () => left.abort());
      send(response, await this.#answer(request, admitted, left.signal));
      this.#cutOffDeaf(response);
    } catch {
      // The peer disconnected during the request, or authentication failed.
      response.destroy();
    }
  }

  /** Ends the connection of a peer that does not take its reply. */
  #cutOffDeaf(response: ServerResponse): void {
    if (response.destroyed || response.socket?.writableLength === 0) return;
    const { clock } = this.#server.settings;
    const cancel = clock.after(this.#options.limits.stallMs, () => response.destroy());
    response.once("close", cancel);
  }

  async #answer(request: IncomingMessage, admitted: Admitted | undefined, gone: AbortSignal): Promise<Reply> {
    const { authenticate, limits } = this.#options;
    const fault = admitted ? undefined : originFault(request, this.#options);
    if (fault) return this.#refused(403, fault);
    if (request.method !== "POST") return this.#refused(405, "", { allow: "POST" });
    const principal = admitted ? admitted.principal : await authenticate?.(credentialInHeaders(request));
    if (authenticate && !admitted && principal === undefined) {
      const detail = "A valid bearer token or API key is required";
      return this.#refused(401, detail, { "www-authenticate": "Bearer" });
    }
    if (!isJson(request.headers["content-type"])) {
      return this.#refused(415, "Expected request with `Content-Type: application/json`");
    }
    const whose = principal ?? request.socket.remoteAddress ?? "";
    const body = await this.#body(request, whose);
    if (!("bytes" in body)) {
      if (body.fault === "busy") return this.#busy();
      const text = `Failed to buffer the request body: length limit of ${limits.maxMessageBytes} bytes exceeded`;
      return this.#refused(413, text, request.httpVersionMajor === 1 ? { connection: "close" } : {});
    }
    if (!isUtf8(body.bytes)) return this.#unreadable("the body is not UTF-8");
    const token = request.headers[SESSION_HEADER];
    const peer: Peer = {
      transport: "http",
      principal,
      sessionToken: typeof token === "string" ? token : undefined,
    };
    const message = this.#server.read(body.bytes.toString(), peer);
    // One that names no session is distinguished by its connection.
    const sender = { principal: whose, peer: message.sender ?? request.socket };
    const place = this.#inFlight.take(message.lane, sender, body.bytes.length);
    if (!place) return this.#busy();
    const { reply, unreadable } = await message.run(gone).finally(place.release);
    if (unreadable)
      return reply === undefined ? this.#unreadable("not JSON") : { ...json(reply), status: 400 };
    return reply === undefined ? { status: 204 } : json(reply);
  }

  /** Reads a body. The unfinished bodies of a principal are limited too. */
  async #body(request: IncomingMessage, principal: string): Promise<RequestBody> {
    const arriving = this.#inFlight.take("arriving", { principal, peer: request }, 0);
    if (!arriving) return { fault: "busy" };
    const { maxMessageBytes } = this.#options.limits;
    try {
      return await readRequestBody(request, maxMessageBytes, this.#server.settings.clock, arriving.grow);
    } finally {
      arriving.release();
    }
  }

  #busy(): Reply {
    return this.#refused(503, "Too many requests are under way", { "retry-after": "1" });
  }

  #refused(status: number, detail: string, headers: Readonly<Record<string, string>> = {}): Reply {
    const { refusal = plainRefusal } = this.#options;
    return { status, ...refusal(status, detail), headers };
  }

  #unreadable(detail: string): Reply {
    if (this.#server.settings.compat)
      return this.#refused(400, `Failed to parse the request body as JSON: ${detail}`);
    const refusal = new Refusal(RPC.parseError, "Parse error", "parse_error", { detail });
    return { ...json(errorText(null, refusal, false)), status: 400 };
  }
}

function json(body: string): Reply {
  return { status: 200, body, type: "application/json" };
}

function send(response: ServerResponse, { status, body, type, headers }: Reply): void {
  if (body === undefined || body === "") {
    response.writeHead(status, status === 204 ? headers : { ...headers, "content-length": "0" }).end();
    return;
  }
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { ...headers, "content-type": type, "content-length": length }).end(body);
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/([^;\s]+\+)?json\s*(;|$)/i.test(contentType ?? "");
}

/**
 * Says a last thing over a socket that no HTTP exchange owns any more, and hangs up. A peer that keeps its side open
 * cannot keep the connection, and one that has gone already does no harm.
 */
export function hangUp(
  socket: Duplex,
  status: number,
  { type, body }: RefusalText = plainRefusal(status, ""),
  headers: Readonly<Record<string, string>> = {},
): void {
  socket.on("error", () => socket.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** The body of a rejection, and its media type. */
export interface RefusalText {
  readonly type: string;
  readonly body: string;
}

/** Puts a refusal into words for the wire. */
export type RefusalBody = (status: number, detail: string) => RefusalText;

/** The reason as it is, in plain text. */
export const plainRefusal: RefusalBody = (_, detail) => ({ type: "text/plain; charset=utf-8", body: detail });
