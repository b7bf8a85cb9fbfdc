import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { ACP_CONNECTION } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import { WebSocketServer } from "ws";
import type { Serving } from "../connections/serving.ts";
import { hangUpWith } from "../gateway/hang-up-with.ts";
import { Refusal } from "../problems/refusal.ts";
import type { AcpSettings } from "./take-message.ts";
import { WebSocketClient } from "./web-socket-client.ts";

/** Who wants a WebSocket, and what serves them. */
export interface WebSocketCaller {
  readonly principal: Principal;
  readonly serving: Serving;
  readonly identity: Harness["identity"];
}

const ID_BYTES = 24;

/** Clients that speak ACP over WebSocket. */
export class WebSockets {
  readonly #settings: AcpSettings;
  readonly #acceptor: WebSocketServer;
  readonly #ids = new WeakMap<IncomingMessage, string>();
  readonly #open = new Set<WebSocketClient>();

  constructor(settings: AcpSettings) {
    this.#settings = settings;
    this.#acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: settings.limits.maxMessageBytes,
      perMessageDeflate: false,
      // A credential may come as a subprotocol; it is never said back.
      handleProtocols: () => false,
    });
    this.#acceptor.on("headers", (headers, request) => {
      const id = this.#ids.get(request);
      if (id !== undefined) headers.push(`${ACP_CONNECTION}: ${id}`);
    });
  }

  /** Takes an upgrade of somebody who is known. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer, caller: WebSocketCaller): void {
    const { limits } = this.#settings;
    if (this.#open.size >= limits.maxStreams) {
      hangUpWith(socket, new Refusal("unavailable", "too many WebSockets are open"));
      return;
    }
    const id = randomBytes(ID_BYTES).toString("base64url");
    this.#ids.set(request, id);
    const agent = new URLSearchParams(request.url?.split("?", 2)[1] ?? "").get("agent") ?? undefined;
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => {
      const client = new WebSocketClient(webSocket, {
        ...caller,
        ...{ id, agent, settings: this.#settings, line: socket },
      });
      this.#open.add(client);
      webSocket.once("close", () => this.#open.delete(client));
    });
  }

  /** Ends all of them. Their sessions and turns go on. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((client) => client.end()));
  }
}
