import type { GatewayLimits } from "../limits.ts";
import { SocketDoor, type Upgrade } from "../web-sockets/socket-door.ts";
import { HaakClient, type HaakClientOptions } from "./haak-client.ts";

/** The clients of `/ws`. */
export class HaakSockets {
  readonly #limits: GatewayLimits;
  readonly #door: SocketDoor;

  constructor(limits: GatewayLimits) {
    this.#limits = limits;
    this.#door = new SocketDoor(limits);
  }

  /** Takes an upgrade of somebody who is known. */
  take(upgrade: Upgrade, options: Omit<HaakClientOptions, "line" | "limits">): void {
    const line = upgrade.socket;
    this.#door.take(
      upgrade,
      (webSocket) => new HaakClient(webSocket, { ...options, line, limits: this.#limits }),
    );
  }

  /** Ends all of them. Their sessions and turns go on. */
  async close(): Promise<void> {
    await this.#door.close();
  }
}
