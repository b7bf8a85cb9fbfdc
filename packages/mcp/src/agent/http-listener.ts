import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorMessage, LoopbackServer } from "@reins/kit";
import { McpError } from "../faults.ts";
import type { HttpEntrance } from "./http-endpoint.ts";

/** A place behind the door, and the token that opens it. */
interface Room {
  readonly token: string;
  readonly entrance: HttpEntrance;
}

/** The loopback port through which agents reach us that want their MCP servers by HTTP. */
export class HttpDoor {
  readonly #server: LoopbackServer;
  readonly #rooms = new Map<string, Room>();

  private constructor(server: LoopbackServer) {
    this.#server = server;
    server.serve((request, response) => this.#handle(request, response));
  }

  /** Listens on a free port of the loopback interface. */
  static async open(): Promise<HttpDoor> {
    try {
      return new HttpDoor(await LoopbackServer.listen());
    } catch (error) {
      throw new McpError("cannot_listen", `cannot listen on 127.0.0.1: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Opens a place to whoever has the token, until the returned function is called. */
  admit(place: string, token: string, entrance: HttpEntrance): { readonly url: string; remove(): void } {
    this.#rooms.set(place, { token, entrance });
    return {
      url: `${this.#server.url}/mcp/${place}`,
      remove: () => void this.#rooms.delete(place),
    };
  }

  /** Stops listening and hangs up on everybody. */
  close(): Promise<void> {
    return this.#server.close();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const fault = this.#foreign(request);
    const [path] = (request.url ?? "").split("?");
    const room = this.#rooms.get(path?.replace(/^\/mcp\//, "") ?? "");
    const authorization = headerOf(request, "authorization") ?? "";
    if (fault !== undefined) refuse(response, 403, fault);
    else if (!room) refuse(response, 404, "there is nothing here");
    else if (isSame(authorization, `Bearer ${room.token}`)) void room.entrance.handle(request, response);
    else refuse(response, 401, "this needs the token that came with it", { "www-authenticate": "Bearer" });
  }

  /** A page on the web that speaks to us through a browser is given away by `Origin`, or by the name it knows us by. */
  #foreign(request: IncomingMessage): string | undefined {
    const names = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${this.#server.port}`);
    const host = headerOf(request, "host")?.toLowerCase() ?? "";
    if (!names.includes(host)) return "this is not the host you asked for";
    const origin = headerOf(request, "origin")?.toLowerCase();
    if (origin === undefined || names.some((name) => origin === `http://${name}`)) return undefined;
    return "pages on the web may not speak to this server";
  }
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** Answers a request that is not, or cannot be, answered by a server, and says why. */
export function refuse(
  response: ServerResponse,
  status: number,
  why: string,
  headers: Record<string, string> = {},
): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: why } });
  sendJson(response, status, body, headers);
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  const length = String(Buffer.byteLength(body));
  response
    .writeHead(status, { ...headers, "content-type": "application/json", "content-length": length })
    .end(body);
}

/** A header that occurs once, or nothing. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

/** Whether the agent takes an answer of that type. */
export function accepts(request: IncomingMessage, type: "application/json" | "text/event-stream"): boolean {
  const offered = (request.headers.accept ?? "").toLowerCase().split(",");
  const [family] = type.split("/");
  return offered.some((one) => [type, `${family}/*`, "*/*"].includes(one.split(";")[0]?.trim() ?? ""));
}
