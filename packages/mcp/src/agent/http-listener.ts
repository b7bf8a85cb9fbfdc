import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Clock, errorMessage, LoopbackServer } from "@reins/kit";
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

/** Serves a connection that sent the secret; `first` is what followed it. */
export type ConnectionHandler = (socket: Socket, first: Buffer) => void;

/** The longest path that every system takes for a Unix socket. */
const LONGEST_PATH = 103;
/** The limits of a secret: its length, and the time until it has arrived. */
const SECRET_BYTES = 128;
const SECRET_TIMEOUT_MS = 10_000;
/** The most connections that have not sent their secret yet. */
const MAX_UNKNOWN = 64;

/** Listens on a Unix socket for the shims of agents. One socket for all servers; the secret selects the server. */
export class SocketListener {
  readonly path: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, ConnectionHandler>();
  readonly #sockets = new Set<Socket>();
  #unknown = 0;

  private constructor(folder: string, path: string, server: Server, clock: Clock) {
    this.#folder = folder;
    this.path = path;
    this.#server = server;
    this.#clock = clock;
    server.on("connection", (socket) => this.#greet(socket));
  }

  /** Listens in a new folder that only this user can enter. */
  static async open(parent: string, clock: Clock): Promise<SocketListener> {
    const folder = await mkdtemp(join(parent, "reins-")).catch((error) => {
      throw cannotListen(parent, error);
    });
    const path = join(folder, "mcp.sock");
    try {
      if (Buffer.byteLength(path) > LONGEST_PATH) throw new Error("the path is too long for a Unix socket");
      const server = createServer({ allowHalfOpen: true }).listen(path);
      await once(server, "listening");
      await chmod(path, 0o600);
      return new SocketListener(folder, path, server, clock);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw cannotListen(path, error);
    }
  }

  /** Routes connections that send the secret to a handler; returns a function that removes the route. */
  admit(secret: string, handler: ConnectionHandler): () => void {
    const key = digest(secret);
    this.#handlers.set(key, handler);
    return () => this.#handlers.delete(key);
  }

  /** Stops listening, closes all connections and removes the folder. */
  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    for (const socket of this.#sockets) socket.destroy();
    await closed.promise;
    await rm(this.#folder, { recursive: true, force: true });
  }

  #greet(socket: Socket): void {
    const leave = () => socket.destroy();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // The `close` event follows every error.
    socket.on("error", leave);
    if (this.#unknown >= MAX_UNKNOWN) {
      leave();
      return;
    }
    this.#unknown += 1;
    const cancelTimer = this.#clock.after(SECRET_TIMEOUT_MS, leave);
    let said = Buffer.alloc(0);
    const listen = (chunk: Buffer) => {
      said = Buffer.concat([said, chunk]);
      const newline = said.subarray(0, SECRET_BYTES).indexOf("\n");
      if (newline < 0 && said.length < SECRET_BYTES) return;
      known();
      const handler = this.#handlers.get(digest(said.subarray(0, Math.max(newline, 0)).toString()));
      if (handler) handler(socket, said.subarray(newline + 1));
      else leave();
    };
    const known = () => {
      cancelTimer();
      this.#unknown -= 1;
      socket.off("data", listen).off("end", leave).off("close", known);
    };
    socket.on("data", listen).once("end", leave).once("close", known);
  }
}

function cannotListen(where: string, cause: unknown): McpError {
  return new McpError("cannot_listen", `cannot listen in ${where}: ${errorMessage(cause)}`, { cause });
}

/** Secrets are looked up by their digest, so that the time of a lookup reveals nothing about them. */
function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
