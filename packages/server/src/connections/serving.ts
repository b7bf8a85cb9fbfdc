import type { Hosting } from "@reins/host";
import { type Clock, errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Log } from "../limits.ts";
import { HttpProblem } from "../problems.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";

export interface ServingOptions {
  /** Waits until agents can run; rejects with a reason for users. */
  readonly hosting: () => Promise<Hosting>;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  readonly log: Log;
}

/** The open hosting and its connections. */
export interface Serving {
  readonly hosting: Hosting;
  readonly connections: Connections;
}

/** Holds the connections of the current hosting, and replaces them after it was reopened. */
export class ServingDoor {
  readonly #options: ServingOptions;
  #serving: Promise<Serving> | undefined;
  #hosting: Hosting | undefined;

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  /** The current hosting and its connections. */
  async open({ store }: Harness): Promise<Serving> {
    let hosting: Hosting;
    try {
      hosting = await this.#options.hosting();
    } catch (error) {
      const detail = errorMessage(error);
      throw new HttpProblem("unavailable", detail, { cause: error });
    }
    // A reopened hosting, such as after a full disk, needs new connections.
    if (!this.#serving || this.#hosting !== hosting) {
      const before = this.#serving;
      this.#hosting = hosting;
      this.#serving = released(before).then(() => this.#load(hosting, store));
    }
    return await this.#serving;
  }

  /** Unloads the connections; they stay in the store. */
  async close(): Promise<void> {
    const serving = this.#serving;
    this.#serving = undefined;
    this.#hosting = undefined;
    await released(serving);
  }

  async #load(hosting: Hosting, store: Harness["store"]): Promise<Serving> {
    const { clock, limits, log } = this.#options;
    const onError = (error: unknown) => log.warn({ err: error }, "a background task of a connection failed");
    return { hosting, connections: new Connections({ hosting, store, clock, limits, onError }) };
  }
}

/** Unloads connections, unless creating them failed. */
async function released(serving: Promise<Serving> | undefined): Promise<void> {
  const loaded = await serving?.catch(() => undefined);
  await loaded?.connections.release();
}
