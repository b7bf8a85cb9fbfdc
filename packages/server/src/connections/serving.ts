import type { Hosting } from "@reins/host";
import { type Clock, errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Log } from "../limits.ts";
import { HttpProblem } from "../problems.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";

/** What serving agents needs. */
export interface ServingOptions {
  /** Waits until agents can be run; rejects with a reason that a person understands. */
  readonly hosting: () => Promise<Hosting>;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  readonly log: Log;
}

/** Everything that serves agents, once it is there. */
export interface Serving {
  readonly hosting: Hosting;
  readonly connections: Connections;
}

/** Where routes find what serves agents. None of its code is loaded before somebody wants an agent. */
export class ServingDoor {
  readonly #options: ServingOptions;
  #serving: Promise<Serving> | undefined;
  #hosting: Hosting | undefined;

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  /** What serves agents now. */
  async open({ store }: Harness): Promise<Serving> {
    let hosting: Hosting;
    try {
      hosting = await this.#options.hosting();
    } catch (error) {
      const detail = errorMessage(error);
      throw new HttpProblem("unavailable", detail, { cause: error });
    }
    // What was opened anew, after the disk was full for instance, is another one. Whoever comes next finds it in its place.
    if (!this.#serving || this.#hosting !== hosting) {
      const before = this.#serving;
      this.#hosting = hosting;
      this.#serving = released(before).then(() => this.#load(hosting, store));
    }
    return await this.#serving;
  }

  /** Lets go of connections; they are kept. */
  async close(): Promise<void> {
    const serving = this.#serving;
    this.#serving = undefined;
    this.#hosting = undefined;
    await released(serving);
  }

  async #load(hosting: Hosting, store: Harness["store"]): Promise<Serving> {
    const { clock, limits, log } = this.#options;
    const onError = (error: unknown) => log.warn({ err: error }, "something went wrong with a connection");
    return { hosting, connections: new Connections({ hosting, store, clock, limits, onError }) };
  }
}

/** Lets go of what serves. Whoever wanted what could not be loaded was told so. */
async function released(serving: Promise<Serving> | undefined): Promise<void> {
  const loaded = await serving?.catch(() => undefined);
  await loaded?.connections.release();
}
