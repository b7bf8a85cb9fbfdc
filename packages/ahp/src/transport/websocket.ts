import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Clock, errorMessage } from "@reins/kit";
import { WebSocket, WebSocketServer } from "ws";
import type { Dial } from "../client/stream-transport.ts";
import { AhpError } from "../errors.ts";
import type { Peer } from "../server/handlers.ts";
import type { AhpServer } from "../server/server.ts";
import {
  type Authenticator,
  asSubprotocol,
  authHeaders,
  type Credential,
  type OriginRules,
  originFault,
  SUBPROTOCOL,
  upgradeCredential,
} from "./auth.ts";
import { Connection, type ConnectionLimits, type Drainable, drain } from "./connection.ts";
import { hangUp, plainRefusal, type RefusalBody } from "./http/listener.ts";
import type { Admitted } from "./http/serve.ts";
import type { InFlight, Limits } from "./limits.ts";

/** Authentication and limits. */
export interface WebSocketListenerOptions extends OriginRules {
  readonly authenticate?: Authenticator | undefined;
  readonly limits: Limits;
  readonly inFlight: InFlight;
  readonly refusal?: RefusalBody | undefined;
  /** Whether a credential in the URL is accepted, which is all that upstream's clients send. */
  readonly credentialsInQuery: boolean;
  /** The ping interval. */
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
    this.#acceptor.on("wsClientError", ({ message }, socket) => this.#refuse(socket, 400, message));
  }

  /** Accepts an upgrade request, without authentication if it is admitted already. Never rejects. */
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
    // A connection accepted while the server closes would keep it open.
    if (this.#closed) return this.#refuse(socket, 503, "The server is closing");
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, principal));
  }

  /** Waits for running requests, then closes every connection. */
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

const GOING_AWAY = 1001;

interface WebSocketLimits extends ConnectionLimits {
  readonly keepAliveMs: number;
}

/** One WebSocket connection to a server. Binary messages are ignored, as upstream does. */
export class WebSocketConnection implements Drainable {
  readonly #webSocket: WebSocket;
  readonly #connection: Connection;

  constructor(
    server: AhpServer,
    webSocket: WebSocket,
    peer: Peer,
    { limits, inFlight, keepAliveMs }: WebSocketLimits,
  ) {
    this.#webSocket = webSocket;
    const sent = () => {
      if (webSocket.bufferedAmount === 0) this.#connection.drained();
    };
    this.#connection = new Connection(
      server,
      {
        send: (text) => webSocket.send(text, sent),
        get buffered() {
          return webSocket.bufferedAmount;
        },
        pause: () => webSocket.pause(),
        resume: () => webSocket.resume(),
        close: () => webSocket.close(GOING_AWAY),
        destroy: () => webSocket.terminate(),
      },
      peer,
      { limits, inFlight },
    );
    webSocket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) this.#connection.receive(data.toString());
    });
    webSocket.on("ping", (data: Buffer) => {
      // Pongs to a peer that does not read are limited.
      if (webSocket.bufferedAmount <= limits.maxBufferedBytes) webSocket.pong(data);
    });
    webSocket.on("error", () => webSocket.terminate());
    webSocket.on("close", () => this.#connection.lost());
    keepAlive(webSocket, keepAliveMs, server.settings.clock);
  }

  /** Answers running requests, then closes and waits for the peer's close frame. */
  async end(): Promise<void> {
    await this.#connection.end();
    if (this.#webSocket.readyState !== this.#webSocket.CLOSED) await once(this.#webSocket, "close");
  }

  destroy(): void {
    if (this.#webSocket.readyState === this.#webSocket.CLOSED) return;
    this.#webSocket.terminate();
  }
}

/** A harness behind a WebSocket. */
export interface WebSocketTarget {
  readonly url: string;
  readonly credential?: Credential | undefined;
  /** The place of the credential; `query` is for upstream's servers only, because URLs end up in logs. */
  readonly credentialIn?: "header" | "subprotocol" | "query";
  /** Certificates to trust beside the system's, in PEM. */
  readonly ca?: string | Buffer | undefined;
}

const KEEP_ALIVE_MS = 30_000;
const CLOSE_PATIENCE_MS = 2_000;

/** Connects to a WebSocket; uses TLS for `wss`. */
export function dialWebSocket(
  target: WebSocketTarget,
  maxMessageBytes: number,
  timeoutMs: number,
  clock: Clock,
): Dial {
  const url = addressOf(target);
  return async (events) => {
    const { credential, credentialIn = "header", ca } = target;
    const headers = credential && credentialIn === "header" ? authHeaders(credential) : {};
    const protocols =
      credential && credentialIn === "subprotocol" ? [SUBPROTOCOL, asSubprotocol(credential)] : [];
    const webSocket = new WebSocket(url, protocols, {
      headers,
      maxPayload: maxMessageBytes,
      handshakeTimeout: timeoutMs,
      perMessageDeflate: false,
      ...(ca === undefined ? {} : { ca }),
    });
    try {
      await once(webSocket, "open");
    } catch (error) {
      throw new AhpError("transport", `WebSocket connection failed: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    webSocket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) events.message(data.toString());
    });
    webSocket.on("error", events.closed);
    webSocket.once("close", (code) => events.closed(new Error(`the WebSocket closed with code ${code}`)));
    keepAlive(webSocket, KEEP_ALIVE_MS, clock);
    return {
      send: (text) => webSocket.send(text),
      get buffered() {
        return webSocket.bufferedAmount;
      },
      close: () => close(webSocket, clock),
    };
  };
}

async function close(webSocket: WebSocket, clock: Clock): Promise<void> {
  if (webSocket.readyState === WebSocket.CLOSED) return;
  const closed = once(webSocket, "close");
  const cancel = clock.after(CLOSE_PATIENCE_MS, () => webSocket.terminate());
  webSocket.close(1000);
  await closed;
  cancel();
}

function addressOf({ url, credential, credentialIn }: WebSocketTarget): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !["ws:", "wss:"].includes(parsed.protocol)) {
    throw new AhpError("transport", `Invalid WebSocket URL: ${url} (expected ws:// or wss://)`);
  }
  if (credential && credentialIn === "query") {
    parsed.searchParams.append(credential.kind === "bearer" ? "token" : "api_key", credential.value);
  }
  return parsed;
}

/** Pings a connection at intervals and closes it if the last ping was not answered, unless reading is paused. */
function keepAlive(webSocket: WebSocket, intervalMs: number, clock: Clock): void {
  let alive = true;
  let cancel = clock.after(intervalMs, beat);
  function beat(): void {
    if (!alive && !webSocket.isPaused) {
      webSocket.terminate();
      return;
    }
    alive = false;
    webSocket.ping();
    cancel = clock.after(intervalMs, beat);
  }
  const stillThere = () => {
    alive = true;
  };
  webSocket.on("pong", stillThere);
  webSocket.on("message", stillThere);
  webSocket.once("close", () => cancel());
}
