import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { GatewayLimits } from "../limits.ts";
import { closeWithProblem, HttpProblem } from "../problems.ts";

/** A client on a WebSocket. */
export interface WebSocketPeer {
  /** Closes the connection after flushing what was sent. */
  leave(reason: string): Promise<void>;
}

/** An authenticated upgrade. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Accepts WebSockets up to a limit, and closes them together. */
export class WebSocketAcceptor {
  readonly #limits: Pick<GatewayLimits, "maxMessageBytes" | "maxStreams">;
  readonly #acceptor: WebSocketServer;
  readonly #headers = new WeakMap<IncomingMessage, string>();
  readonly #open = new Set<WebSocketPeer>();

  constructor(limits: Pick<GatewayLimits, "maxMessageBytes" | "maxStreams">) {
    this.#limits = limits;
    this.#acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: limits.maxMessageBytes,
      perMessageDeflate: false,
      // A subprotocol may contain a credential, so none is echoed.
      handleProtocols: () => false,
    });
    this.#acceptor.on("headers", (headers, request) => {
      const header = this.#headers.get(request);
      if (header !== undefined) headers.push(header);
    });
  }

  /** Accepts an upgrade, with an additional response header. */
  take(upgrade: Upgrade, welcome: (webSocket: WebSocket) => WebSocketPeer, header?: string): void {
    const { request, socket, head } = upgrade;
    if (this.#open.size >= this.#limits.maxStreams) {
      closeWithProblem(socket, new HttpProblem("unavailable", "too many WebSockets are open"));
      return;
    }
    if (header !== undefined) this.#headers.set(request, header);
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => {
      const guest = welcome(webSocket);
      this.#open.add(guest);
      webSocket.once("close", () => this.#open.delete(guest));
    });
  }

  /** Closes all connections. Their sessions and turns continue. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((guest) => guest.leave("Reins is stopping")));
  }
}
