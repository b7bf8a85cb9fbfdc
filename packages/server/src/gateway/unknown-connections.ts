import type { Socket } from "node:net";
import type { GatewayLimits } from "../limits.ts";

type ConnectionLimits = Pick<GatewayLimits, "unknownConnections" | "unknownConnectionsPerAddress">;

/** One end of a connection, as a socket or the request on it tells. */
type End = Pick<Socket, "remoteAddress" | "remotePort">;

/** The connections on which nobody has shown a credential yet: few of one address, and not all that there may be. */
export class UnknownConnections {
  readonly #limits: ConnectionLimits;
  /** Their addresses, each by its end. */
  readonly #open = new Map<string, string>();
  readonly #perAddress = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Takes a new connection in; says whether there is room for it. */
  take(socket: Socket): boolean {
    const { unknownConnections, unknownConnectionsPerAddress } = this.#limits;
    const { remoteAddress: address } = socket;
    if (address === undefined) return true;
    const ofAddress = this.#perAddress.get(address) ?? 0;
    if (this.#open.size >= unknownConnections || ofAddress >= unknownConnectionsPerAddress) return false;
    const key = keyOf(socket);
    this.#open.set(key, address);
    this.#perAddress.set(address, ofAddress + 1);
    socket.once("close", () => this.#remove(key));
    return true;
  }

  /** Somebody has shown a credential on a connection. */
  isKnown(end: End): void {
    this.#remove(keyOf(end));
  }

  #remove(key: string): void {
    const address = this.#open.get(key);
    if (address === undefined) return;
    this.#open.delete(key);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}

function keyOf({ remoteAddress, remotePort }: End): string {
  return `${remoteAddress} ${remotePort}`;
}
