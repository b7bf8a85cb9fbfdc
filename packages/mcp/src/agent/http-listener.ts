import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorMessage, LoopbackServer } from "@reins/kit";
import { McpError } from "../faults.ts";
import { failure, RPC } from "../message.ts";
import type { HttpEndpoint } from "./http-endpoint.ts";

/** An endpoint and the token that it requires. */
interface Route {
  readonly token: string;
  readonly endpoint: HttpEndpoint;
}

/** Listens on a loopback port for agents that reach their MCP servers over HTTP. */
export class HttpListener {
  readonly #server: LoopbackServer;
  readonly #routes = new Map<string, Route>();

  private constructor(server: LoopbackServer) {
    this.#server = server;
    server.serve((request, response) => this.#handle(request, response));
  }

  /** Listens on a free port of the loopback interface. */
  static async open(): Promise<HttpListener> {
    try {
      return new HttpListener(await LoopbackServer.listen());
    } catch (error) {
      throw new McpError("cannot_listen", `cannot listen on 127.0.0.1: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Adds a route that requires a token. */
  admit(place: string, token: string, endpoint: HttpEndpoint): { readonly url: string; remove(): void } {
    this.#routes.set(place, { token, endpoint });
    return {
      url: `${this.#server.url}/mcp/${place}`,
      remove: () => void this.#routes.delete(place),
    };
  }

  /** Stops listening and closes all connections. */
  close(): Promise<void> {
    return this.#server.close();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const fault = this.#foreign(request);
    const [path] = (request.url ?? "").split("?");
    const route = this.#routes.get(path?.replace(/^\/mcp\//, "") ?? "");
    const authorization = headerOf(request, "authorization") ?? "";
    if (fault !== undefined) refuse(response, 403, fault);
    else if (!route) refuse(response, 404, "there is nothing here");
    else if (isSame(authorization, `Bearer ${route.token}`)) void route.endpoint.handle(request, response);
    else refuse(response, 401, "this needs the token that came with it", { "www-authenticate": "Bearer" });
  }

  /** Why a request is refused that a web page sent through a browser: by its `Origin` or its `Host`. */
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
  sendJson(response, status, JSON.stringify({ ...failure(RPC.lost, why), id: null }), headers);
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
