import type { Handlers } from "@reins/ahp";
import type { Hosting, WireTap } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { tappedHandlers } from "./ahp.ts";
import type { AnsweredRequest } from "./gateway/application.ts";
import { Measures } from "./metrics/measures.ts";
import { metricsDialect } from "./metrics/metrics-routes.ts";
import type { Dialect } from "./routes/router.ts";
import { AgentsDialect } from "./v1/agents.ts";
import { killDialect } from "./v1/kill.ts";
import type { AgentShelf } from "./v1/shown-agent.ts";
import { type Stalls, Watchdog } from "./watchdog/watchdog.ts";
import { WireRing } from "./wire/wire-ring.ts";
import { RequestRing, wireDialect } from "./wire/wire-routes.ts";

/** What is needed to operate a Reins that runs. */
export interface OperatorDeskOptions {
  /** Waits until agents can be run; rejects with a reason that a person understands. */
  readonly hosting: () => Promise<Hosting>;
  /** The agents of the home. */
  readonly agents: () => Promise<AgentShelf>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's home, from which agents' credentials come. */
  readonly userHome: string;
  readonly version: string;
  /** Where is written that the main thread stood still, and where, beside standard error. */
  readonly stallFile?: string | undefined;
  readonly clock?: Clock;
}

/** What somebody who operates a Reins sees of it while it runs: its agents, its wires, its figures, and the way to end things. */
export class OperatorDesk {
  /** The paths at which all of it is found. */
  readonly dialects: readonly Dialect[];
  readonly #measures: Measures;
  readonly #wire: WireRing;
  readonly #requests: RequestRing;
  readonly #watchdog: Watchdog;

  constructor(options: OperatorDeskOptions) {
    const { hosting, version, clock = systemClock } = options;
    const now = () => clock.now();
    this.#measures = new Measures(clock);
    this.#wire = new WireRing(() => now().getTime());
    this.#requests = new RequestRing(now);
    this.#watchdog = new Watchdog({ file: options.stallFile });
    this.dialects = [
      new AgentsDialect(options),
      killDialect(hosting),
      metricsDialect({ measures: this.#measures, watchdog: this.#watchdog, hosting, version }),
      wireDialect(this.#wire, this.#requests),
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
