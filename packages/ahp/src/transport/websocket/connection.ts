import { once } from "node:events";
import type { WebSocket } from "ws";
import type { Peer } from "../../server/peer.ts";
import type { AhpServer } from "../../server/server.ts";
import { Connection, type ConnectionLimits } from "../connection.ts";
import type { Drainable } from "../drain.ts";
import { keepAlive } from "./keep-alive.ts";

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
      // Who pings and does not read is not answered for ever.
      if (webSocket.bufferedAmount <= limits.maxBufferedBytes) webSocket.pong(data);
    });
    webSocket.on("error", () => webSocket.terminate());
    webSocket.on("close", () => this.#connection.lost());
    keepAlive(webSocket, keepAliveMs, server.settings.clock);
  }

  /** Answers what is under way, then closes and waits for the peer to agree. */
  async end(): Promise<void> {
    await this.#connection.end();
    if (this.#webSocket.readyState !== this.#webSocket.CLOSED) await once(this.#webSocket, "close");
  }

  destroy(): void {
    if (this.#webSocket.readyState === this.#webSocket.CLOSED) return;
    this.#webSocket.terminate();
  }
}
