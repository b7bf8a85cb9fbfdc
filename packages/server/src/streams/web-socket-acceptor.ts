import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { GatewayLimits } from "../limits.ts";
import { closeWithProblem, HttpProblem } from "../problems.ts";

/** One who came in over a WebSocket. */
export interface WebSocketPeer {
  /** Ends it; what was sent still arrives. */
  leave(reason: string): Promise<void>;
}

/** An upgrade of somebody who is known, as the HTTP server gives it. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Where WebSockets come in: so many at once, each bounded, and all of them ended together. */
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
      // A credential may come as a subprotocol; it is never said back.
      handleProtocols: () => false,
    });
    this.#acceptor.on("headers", (headers, request) => {
      const header = this.#headers.get(request);
      if (header !== undefined) headers.push(header);
    });
  }

  /** Lets somebody in, who is told `header` with the upgrade. */
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

  /** Ends all of them. Their sessions and turns go on. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((guest) => guest.leave("Reins is stopping")));
  }
}
