import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { hangUpWith } from "../gateway/hang-up-with.ts";
import type { GatewayLimits } from "../limits.ts";
import { Refusal } from "../problems/refusal.ts";
import { HaakClient, type HaakClientOptions } from "./haak-client.ts";

/** The clients of `/ws`. */
export class HaakSockets {
  readonly #limits: GatewayLimits;
  readonly #acceptor: WebSocketServer;
  readonly #open = new Set<HaakClient>();

  constructor(limits: GatewayLimits) {
    this.#limits = limits;
    this.#acceptor = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: limits.maxMessageBytes,
      perMessageDeflate: false,
      // A credential may come as a subprotocol; it is never said back.
      handleProtocols: () => false,
    });
  }

  /** Takes an upgrade of somebody who is known. */
  take(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    options: Omit<HaakClientOptions, "onClosed" | "limits">,
  ): void {
    if (this.#open.size >= this.#limits.maxStreams) {
      hangUpWith(socket, new Refusal("unavailable", "too many WebSockets are open"));
      return;
    }
    this.#acceptor.handleUpgrade(request, socket, head, (webSocket) => {
      const onClosed = () => void this.#open.delete(client);
      const client: HaakClient = new HaakClient(webSocket, { ...options, limits: this.#limits, onClosed });
      this.#open.add(client);
    });
  }

  /** Ends all of them. Their sessions and turns go on. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((client) => client.leave("Reins is stopping")));
  }
}
