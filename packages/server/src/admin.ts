import type { Handlers } from "@reins/ahp";
import type { Hosting, WireTap } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { tappedHandlers } from "./ahp.ts";
import type { AnsweredRequest } from "./gateway/application.ts";
import { Measures } from "./metrics/measures.ts";
import { metricsRoutes } from "./metrics/metrics-routes.ts";
import type { Routes } from "./routes/router.ts";
import { AgentsRoutes } from "./v1/agents.ts";
import { killRoutes } from "./v1/kill.ts";
import type { AgentRegistry } from "./v1/shown-agent.ts";
import { type Stalls, Watchdog } from "./watchdog/watchdog.ts";
import { WireRing } from "./wire/wire-ring.ts";
import { RequestRing, wireRoutes } from "./wire/wire-routes.ts";

/** What is needed to operate a Reins that runs. */
export interface AdminApiOptions {
  /** Waits until agents can be run; rejects with a reason that a person understands. */
  readonly hosting: () => Promise<Hosting>;
  /** The agents of the home. */
  readonly agents: () => Promise<AgentRegistry>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's home, from which agents' credentials come. */
  readonly userHome: string;
  readonly version: string;
  /** Where is written that the main thread stood still, and where, beside standard error. */
  readonly stallFile?: string | undefined;
  readonly clock?: Clock;
}

/** What somebody who operates a Reins sees of it while it runs: its agents, its wires, its figures, and the way to end things. */
export class AdminApi {
  /** The paths at which all of it is found. */
  readonly routes: readonly Routes[];
  readonly #measures: Measures;
  readonly #wire: WireRing;
  readonly #requests: RequestRing;
  readonly #watchdog: Watchdog;

  constructor(options: AdminApiOptions) {
    const { hosting, version, clock = systemClock } = options;
    const now = () => clock.now();
    this.#measures = new Measures(clock);
    this.#wire = new WireRing(() => now().getTime());
    this.#requests = new RequestRing(now);
    this.#watchdog = new Watchdog({ file: options.stallFile });
    this.routes = [
      new AgentsRoutes(options),
      killRoutes(hosting),
      metricsRoutes({ measures: this.#measures, watchdog: this.#watchdog, hosting, version }),
      wireRoutes(this.#wire, this.#requests),
    ];
  }

  /** To be told of every request that the gateway answers. */
  readonly answered = (request: AnsweredRequest): void => {
    this.#measures.answered(request);
    this.#requests.take(request);
  };

  /** How often the main thread stood still, and the last time. */
  readonly stalls = (): Stalls => this.#watchdog.stalls;

  /** To see every message of ACP. */
  readonly tap: WireTap = (passing) => this.#wire.take({ ...passing, protocol: "acp" });

  /** Handlers of AHP of which every event and decision is seen. */
  tapped(handlers: Handlers): Handlers {
    return tappedHandlers(handlers, this.#wire.take);
  }

  /** Begins to count, once there is something to be counted. */
  attend(harness: Harness, { hub }: Hosting): void {
    this.#measures.attend(harness, () => hub.log.count);
  }

  /** Begins to look at the process itself. The gateway that it is given to ends that when it closes. */
  start(): void {
    this.#measures.start();
    this.#watchdog.start();
  }
}
