import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { AhpServer } from "../../server/server.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { OriginRules } from "../auth/origin.ts";
import { InFlight } from "../in-flight.ts";
import { type Limits, settleLimits } from "../limits.ts";
import { WebSocketListener } from "../websocket/listener.ts";
import { hangUp } from "./hang-up.ts";
import { HttpListener } from "./listener.ts";
import type { RefusalBody } from "./refusal.ts";

/** What to offer over HTTP and WebSocket, for whom, and how much they may ask. */
export interface MountOptions extends OriginRules {
  /** Says who a peer is; without it everybody who is let in is served. */
  readonly authenticate?: Authenticator;
  /** What to offer; both unless told otherwise. */
  readonly protocols?: readonly ("http" | "websocket")[];
  /** Whether a WebSocket client may put its credential in the URL. */
  readonly credentialsInQuery?: boolean;
  readonly keepAliveMs?: number;
  readonly limits?: Partial<Limits>;
  /** How a request that does not get as far as the protocol is told so; plain text unless told otherwise. */
  readonly refusal?: RefusalBody;
}

/** Somebody whom the owner of the server has looked at already: who they are and where they come from. */
export interface Admitted {
  readonly principal: string | undefined;
}

/** AHP on a server that somebody else owns. Paths have been looked at already. */
export interface HttpMount {
  /** Answers one request. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse, admitted?: Admitted): Promise<void>;
  /** Takes an upgrade to WebSocket. Never rejects. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admitted?: Admitted): Promise<void>;
  /** Lets WebSocket requests under way finish for a while, then closes every connection. */
  close(): Promise<void>;
}

const DEFAULT_KEEP_ALIVE_MS = 30_000;

/** Makes AHP ready to be served by somebody else's HTTP server. */
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
