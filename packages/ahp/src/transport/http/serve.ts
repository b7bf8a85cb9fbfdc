import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { AhpServer } from "../../server/server.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { OriginRules } from "../auth/origin.ts";
import { type Limits, settleLimits } from "../limits.ts";
import { listening } from "../listening.ts";
import type { Served } from "../served.ts";
import { WebSocketListener } from "../websocket/listener.ts";
import { hangUp } from "./hang-up.ts";
import { HttpListener } from "./listener.ts";

/** Where to listen over HTTP and WebSocket, for whom, and how much they may ask. */
export interface HttpOptions extends OriginRules {
  /** Loopback unless told otherwise. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  readonly path?: string;
  /** Says who a peer is; without it everybody who reaches the port is served. */
  readonly authenticate?: Authenticator;
  /** What to offer at that path; both unless told otherwise. */
  readonly protocols?: readonly ("http" | "websocket")[];
  /** Certificate and key in PEM; with them the server speaks `https` and `wss`. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Whether a WebSocket client may put its credential in the URL. */
  readonly credentialsInQuery?: boolean;
  readonly keepAliveMs?: number;
  readonly limits?: Partial<Limits>;
}

const DEFAULT_KEEP_ALIVE_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** What a peer is told about HTTP that cannot be read; anything else is a bad request. */
const FAULT_STATUS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Serves HTTP and WebSocket on one port and path. */
export async function serveHttp(server: AhpServer, options: HttpOptions = {}): Promise<Served> {
  const { host = "127.0.0.1", port = 0, path = "/ahp", protocols = ["http", "websocket"], tls } = options;
  const limits = settleLimits(options.limits);
  const listener = newServer(tls);
  listener.maxConnections = limits.maxConnections;
  const allowedHosts = [...(options.allowedHosts ?? []), bracketed(host)];
  const shared = {
    authenticate: options.authenticate,
    limits,
    allowedHosts,
    allowedOrigins: options.allowedOrigins ?? [],
  };
  const http = protocols.includes("http") ? new HttpListener(server, shared) : undefined;
  const webSocket = protocols.includes("websocket")
    ? new WebSocketListener(server, {
        ...shared,
        credentialsInQuery: options.credentialsInQuery ?? true,
        keepAliveMs: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS,
      })
    : undefined;
  listener.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (http && pathOf(request) === path) return void http.handle(request, response);
    response.writeHead(404, { "content-length": "0" }).end();
  });
  listener.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (webSocket && pathOf(request) === path) return void webSocket.upgrade(request, socket, head);
    hangUp(socket, "404 Not Found");
  });
  listener.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    hangUp(socket, FAULT_STATUS[error.code ?? ""] ?? "400 Bad Request"),
  );
  await listening(listener, `${host}:${port}`, () => listener.listen(port, host));
  const closed = Promise.withResolvers<void>();
  listener.once("close", () => closed.resolve());
  return {
    address: `${tls ? "https" : "http"}://${bracketed(host)}:${portOf(listener)}${path}`,
    closed: closed.promise,
    close: async () => {
      if (listener.listening) listener.close();
      const callOff = server.settings.clock.after(limits.drainMs, () => listener.closeAllConnections());
      await webSocket?.close();
      listener.closeIdleConnections();
      await closed.promise;
      callOff();
    },
  };
}

function newServer(tls: HttpOptions["tls"]): Server {
  const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  return tls ? createTlsServer({ ...tls, ...timeouts }) : createServer(timeouts);
}

function pathOf({ url }: IncomingMessage): string | undefined {
  return url?.split("?", 1)[0];
}

function portOf(listener: Server): number {
  const address: AddressInfo | string | null = listener.address();
  return typeof address === "object" && address ? address.port : 0;
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
