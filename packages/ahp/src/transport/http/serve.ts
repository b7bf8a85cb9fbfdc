import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { AhpServer } from "../../server/server.ts";
import { settleLimits } from "../limits.ts";
import { listening } from "../listening.ts";
import type { Served } from "../served.ts";
import { hangUp } from "./hang-up.ts";
import { type MountOptions, mountHttp } from "./mount.ts";

/** Where to listen over HTTP and WebSocket, for whom, and how much they may ask. */
export interface HttpOptions extends MountOptions {
  /** Loopback unless told otherwise. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  readonly path?: string;
  /** Certificate and key in PEM; with them the server speaks `https` and `wss`. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** What a peer is told about HTTP that cannot be read; anything else is a bad request. */
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
      const callOff = server.settings.clock.after(drainMs, () => listener.closeAllConnections());
      await mount.close();
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
