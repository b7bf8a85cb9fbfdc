import { connect, type Socket } from "node:net";
import { seededRandom } from "../../../../scripts/torture/random.ts";
import { within } from "../bounds.ts";

const CONNECTIONS = 20;
const DRIP_MS = 200;
/** A server gives a head ten seconds, and looks at the time every thirty. */
const PATIENCE_MS = 120_000;

/** Connections that say a request a byte at a time and never come to its end. */
export class Loris {
  readonly #sockets: readonly Socket[];
  readonly #cut: Promise<unknown>;
  readonly #timer: NodeJS.Timeout;

  private constructor(sockets: readonly Socket[]) {
    this.#sockets = sockets;
    this.#cut = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    this.#timer = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write("x");
    }, DRIP_MS);
  }

  static start(url: string, seed: number): Loris {
    const random = seededRandom(seed);
    const { hostname, port } = new URL(url);
    return new Loris(
      Array.from({ length: CONNECTIONS }, () => {
        const socket = connect(Number(port), hostname).on("error", () => {});
        const head = `POST /ahp HTTP/1.1\r\nhost: ${hostname}\r\nx-slow: `;
        socket.write(head.slice(0, 1 + random.int(head.length)));
        return socket;
      }),
    );
  }

  /** Waits until the server has lost its patience with every one of them. */
  async cut(): Promise<void> {
    await within("the end of slow requests", this.#cut, PATIENCE_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}
