import { randomBytes } from "node:crypto";
import { ACP_CONNECTION } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import type { Serving } from "../connections/serving.ts";
import { SocketDoor, type Upgrade } from "../web-sockets/socket-door.ts";
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
  readonly #door: SocketDoor;

  constructor(settings: AcpSettings) {
    this.#settings = settings;
    this.#door = new SocketDoor(settings.limits);
  }

  /** Takes an upgrade of somebody who is known. */
  take(upgrade: Upgrade, caller: WebSocketCaller): void {
    const { request, socket } = upgrade;
    const id = randomBytes(ID_BYTES).toString("base64url");
    const agent = new URLSearchParams(request.url?.split("?", 2)[1] ?? "").get("agent") ?? undefined;
    const options = { ...caller, id, agent, settings: this.#settings, line: socket };
    this.#door.take(
      upgrade,
      (webSocket) => new WebSocketClient(webSocket, options),
      `${ACP_CONNECTION}: ${id}`,
    );
  }

  /** Ends all of them. Their sessions and turns go on. */
  async close(): Promise<void> {
    await this.#door.close();
  }
}
