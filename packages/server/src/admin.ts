import type { Handlers } from "@reins/ahp";
import type { Hosting, WireTap } from "@reins/host";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { tappedHandlers } from "./ahp.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { AnsweredRequest } from "./gateway/application.ts";
import { Measures } from "./metrics/measures.ts";
import { metricsRoutes } from "./metrics/metrics-routes.ts";
import type { Routes } from "./routes/router.ts";
import { AgentsRoutes } from "./v1/agents.ts";
import { killRoutes } from "./v1/kill.ts";
import { nodeRoutes } from "./v1/nodes.ts";
import type { AgentRegistry } from "./v1/shown-agent.ts";
import { type Stalls, Watchdog } from "./watchdog/watchdog.ts";
import { WireRing } from "./wire/wire-ring.ts";
import { RequestRing, wireRoutes } from "./wire/wire-routes.ts";

export interface AdminApiOptions {
  /** Waits until agents can run; rejects with a reason for users. */
  readonly hosting: () => Promise<Hosting>;
  /** The agent registry of the home. */
  readonly agents: () => Promise<AgentRegistry>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's home folder, the source of credentials. */
  readonly userHome: string;
  readonly version: string;
  /** The file for stall reports, beside standard error. */
  readonly stallFile?: string | undefined;
  /** How long the main thread may be busy without a report; by default two seconds. */
  readonly stallMs?: number | undefined;
  /** The other nodes, where there are several. */
  readonly cluster?: Cluster | undefined;
  readonly clock?: Clock;
}

/** The admin API of a running server: agents, wire, metrics and kill switch. */
export class AdminApi {
  readonly routes: readonly Routes[];
  readonly #agents: AgentsRoutes;
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
    this.#watchdog = new Watchdog({ file: options.stallFile, limitMs: options.stallMs });
    this.#agents = new AgentsRoutes(options);
    this.routes = [
      this.#agents,
      killRoutes(hosting, options.cluster),
      nodeRoutes(options.cluster),
      metricsRoutes({ measures: this.#measures, watchdog: this.#watchdog, hosting, version }),
      wireRoutes(this.#wire, this.#requests),
    ];
  }

  /** Records a request that the gateway has answered. */
  readonly answered = (request: AnsweredRequest): void => {
    this.#measures.answered(request);
    this.#requests.take(request);
  };

  /** Stalls of the main thread. */
  readonly stalls = (): Stalls => this.#watchdog.stalls;

  /** Records every ACP message. */
  readonly tap: WireTap = (passing) => this.#wire.take({ ...passing, protocol: "acp" });

  /** Wraps AHP handlers to record events and decisions. */
  tapped(handlers: Handlers): Handlers {
    return tappedHandlers(handlers, this.#wire.take);
  }

  /** Starts counting the decisions of a harness, and serves agents to the clients of its sessions. */
  attend(harness: Harness, { hub }: Hosting): void {
    hub.agents = this.#agents.methods(harness);
    this.#measures.attend(harness, () => hub.log.count);
  }

  /** Starts the process metrics and the watchdog; closing the gateway stops them. */
  start(): void {
    this.#measures.start();
    this.#watchdog.start();
  }
}
