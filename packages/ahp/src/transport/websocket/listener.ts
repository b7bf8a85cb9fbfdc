import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { AhpServer } from "../../server/server.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { SUBPROTOCOL, upgradeCredential } from "../auth/credential.ts";
import { type OriginRules, originFault } from "../auth/origin.ts";
import { drain } from "../drain.ts";
import { hangUp } from "../http/hang-up.ts";
import type { Admitted } from "../http/mount.ts";
import { plainRefusal, type RefusalBody } from "../http/refusal.ts";
import type { InFlight } from "../in-flight.ts";
import type { Limits } from "../limits.ts";
import { WebSocketConnection } from "./connection.ts";

/** Who may connect, and how much they may ask. */
export interface WebSocketListenerOptions extends OriginRules {
  readonly authenticate?: Authenticator | undefined;
  readonly limits: Limits;
  readonly inFlight: InFlight;
  readonly refusal?: RefusalBody | undefined;
  /** Whether a credential in the URL counts. Upstream's clients know no other way. */
  readonly credentialsInQuery: boolean;
  /** How often a quiet connection is asked whether it still lives. */
  readonly keepAliveMs: number;
}

/** Accepts WebSocket connections: a JSON document per text message. */
export class WebSocketListener {
  readonly #server: AhpServer;
  readonly #options: WebSocketListenerOptions;
  readonly #acceptor: WebSocketServer;
  readonly #open = new Set<WebSocketConnection>();
  #closed = false;

  constructor(server: AhpServer, options: WebSocketListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.#acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: options.limits.maxMessageBytes,
      perMessageDeflate: false,
      autoPong: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  /** Takes an upgrade request; of whoever was admitted nothing more is asked. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admitted?: Admitted): Promise<void> {
    socket.on("error", () => socket.destroy());
    const { authenticate, limits, credentialsInQuery } = this.#options;
    const fault = admitted ? undefined : originFault(request, this.#options);
    if (fault) return this.#refuse(socket, 403, fault);
    if (this.#open.size >= limits.maxConnections) return this.#refuse(socket, 503, "Too many connections");
    let principal = admitted?.principal;
    if (authenticate && !admitted) {
      try {
        principal = await authenticate(upgradeCredential(request, credentialsInQuery));
      } catch {
        return this.#refuse(socket, 503, "The credential could not be checked");
      }
      if (principal === undefined)
        return this.#refuse(socket, 401, "A valid bearer token or API key is required");
    }
    if (socket.destroyed) return;
    // Whoever came while the server closes would be forgotten, and keep it open.
    if (this.#closed) return this.#refuse(socket, 503, "The server is closing");
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, principal));
  }

  /** Lets requests under way finish, then closes every connection. */
  close(): Promise<void> {
    this.#closed = true;
    return drain(this.#open, this.#options.limits.drainMs, this.#server.settings.clock);
  }

  #refuse(socket: Duplex, status: number, detail: string): void {
    const { refusal = plainRefusal } = this.#options;
    hangUp(socket, status, refusal(status, detail));
  }

  #accept(webSocket: WebSocket, principal: string | undefined): void {
    const peer = { transport: "websocket", principal } as const;
    const connection = new WebSocketConnection(this.#server, webSocket, peer, this.#options);
    this.#open.add(connection);
    webSocket.once("close", () => this.#open.delete(connection));
  }
}
