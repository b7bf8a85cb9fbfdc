import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { AhpServer } from "../../server/server.ts";
import type { Authenticator, OriginRules } from "../auth.ts";
import { listening, type Served } from "../connection.ts";
import { InFlight, type Limits, settleLimits } from "../limits.ts";
import { WebSocketListener } from "../websocket.ts";
import { HttpListener, hangUp, type RefusalBody } from "./listener.ts";

/** The address, authentication and limits of a server over HTTP and WebSocket. */
export interface HttpOptions extends MountOptions {
  /** Loopback by default. */
  readonly host?: string;
  /** 0 chooses any free port. */
  readonly port?: number;
  readonly path?: string;
  /** Certificate and key in PEM; with them the server speaks `https` and `wss`. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** Statuses for HTTP that cannot be parsed; anything else is a bad request. */
const FAULT_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** Serves HTTP and WebSocket on one port and path. */
export async function serveHttp(server: AhpServer, options: HttpOptions = {}): Promise<Served> {
  const { host = "127.0.0.1", port = 0, path = "/ahp", tls } = options;
  const { maxConnections, drainMs } = settleLimits(options.limits);
  const listener = newServer(tls);
  listener.maxConnections = maxConnections;
  const allowedHosts = [...(options.allowedHosts ?? []), bracketed(host)];
  const mount = mountHttp(server, { ...options, allowedHosts });
  listener.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (pathOf(request) === path) return void mount.handle(request, response);
    response.writeHead(404, { "content-length": "0" }).end();
  });
  listener.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (pathOf(request) === path) return void mount.upgrade(request, socket, head);
    hangUp(socket, 404);
  });
  listener.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    hangUp(socket, FAULT_STATUS[error.code ?? ""] ?? 400),
  );
  await listening(listener, `${host}:${port}`, () => listener.listen(port, host));
  const closed = Promise.withResolvers<void>();
  listener.once("close", () => closed.resolve());
  return {
    address: `${tls ? "https" : "http"}://${bracketed(host)}:${portOf(listener)}${path}`,
    closed: closed.promise,
    close: async () => {
      if (listener.listening) listener.close();
      const cancel = server.settings.clock.after(drainMs, () => listener.closeAllConnections());
      await mount.close();
      listener.closeIdleConnections();
      await closed.promise;
      cancel();
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

/** Protocols, authentication and limits of a mount. */
export interface MountOptions extends OriginRules {
  /** Authenticates a peer; without it every peer is served. */
  readonly authenticate?: Authenticator;
  /** The protocols; both by default. */
  readonly protocols?: readonly ("http" | "websocket")[];
  /** Whether a WebSocket client may put its credential in the URL. */
  readonly credentialsInQuery?: boolean;
  readonly keepAliveMs?: number;
  readonly limits?: Partial<Limits>;
  /** Makes the body for a request rejected before the protocol; plain text by default. */
  readonly refusal?: RefusalBody;
}

/** A peer whose principal and origin the owner of the server has checked already. */
export interface Admitted {
  readonly principal: string | undefined;
}

/** AHP on an HTTP server of the caller, which has checked the paths. */
export interface HttpMount {
  /** Answers one request. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse, admitted?: Admitted): Promise<void>;
  /** Takes an upgrade to WebSocket. Never rejects. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admitted?: Admitted): Promise<void>;
  /** Waits for running WebSocket requests up to the drain timeout, then closes every connection. */
  close(): Promise<void>;
}

const DEFAULT_KEEP_ALIVE_MS = 30_000;

/** Mounts AHP on an HTTP server of the caller. */
export function mountHttp(server: AhpServer, options: MountOptions = {}): HttpMount {
  const { authenticate, protocols = ["http", "websocket"], refusal } = options;
  const limits = settleLimits(options.limits);
  const shared = {
    authenticate,
    refusal,
    limits,
    inFlight: new InFlight(limits),
    allowedHosts: options.allowedHosts ?? [],
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
  return {
    async handle(request, response, admitted) {
      if (http) return http.handle(request, response, admitted);
      response.writeHead(404, { "content-length": "0" }).end();
    },
    async upgrade(request, socket, head, admitted) {
      if (webSocket) return webSocket.upgrade(request, socket, head, admitted);
      hangUp(socket, 404);
    },
    close: async () => webSocket?.close(),
  };
}
