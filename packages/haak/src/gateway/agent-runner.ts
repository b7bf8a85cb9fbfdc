import type { Hosting } from "@reins/host";
import { type Clock, Repeater, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { Mailbox } from "../mail/mailbox.ts";
import { Eviction } from "./eviction.ts";
import { Haak } from "./haak.ts";
import { Heartbeat } from "./heartbeat.ts";
import { preloadStanding } from "./standing.ts";

/** How HAAK's sessions are run. */
export interface AgentRunnerOptions {
  readonly harness: Harness;
  readonly hosting: Pick<Hosting, "hub" | "host" | "catalogue" | "offers" | "redact">;
  /** The agent behind sessions that name none; by default `native`. */
  readonly backend?: string | undefined;
  /** Whether an agent is there to be run: what a client names is not installed for it. By default all are. */
  readonly isInstalled?: ((agent: string) => Promise<boolean>) | undefined;
  /** How long a session of the mode `domain` stays open that nobody uses; by default 30 minutes. */
  readonly ttlMs?: number | undefined;
  /** Whether standing agents have their sessions from the beginning. */
  readonly preloadStanding?: boolean | undefined;
  /** How often standing agents with unread mail are woken; by default every five minutes, and never when it is 0. */
  readonly heartbeatMs?: number | undefined;
  readonly clock?: Clock;
  /** Told what went wrong in the background. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const TTL_MS = 30 * 60_000;
const CHECK_MS = 60_000;
const HEARTBEAT_MS = 300_000;

/** HAAK's agent runner: the sessions of `/ws`, those of standing agents, their eviction and their heartbeat. */
export class AgentRunner {
  readonly haak: Haak;
  readonly eviction: Eviction;
  readonly heartbeat: Heartbeat;
  readonly #options: AgentRunnerOptions;
  readonly #repeating: readonly Repeater[];

  private constructor(options: AgentRunnerOptions) {
    this.#options = options;
    const { harness, hosting, heartbeatMs = HEARTBEAT_MS, ttlMs = TTL_MS } = options;
    const { clock = systemClock, onError = () => undefined } = options;
    const { home, store, identity } = harness;
    this.haak = new Haak({
      hub: hosting.hub,
      catalogue: hosting.catalogue,
      offers: hosting.offers,
      redact: hosting.redact,
      harness,
      folders: hosting.host.folders,
      backend: options.backend,
      isInstalled: options.isInstalled,
      clock,
      onTurnOver: (session) => void this.eviction.turnOver(session).catch(onError),
    });
    this.eviction = new Eviction({ hub: hosting.hub, harness, haak: this.haak, clock, ttlMs });
    const { tenant } = identity.local();
    this.heartbeat = new Heartbeat({
      harness,
      haak: this.haak,
      mailbox: new Mailbox({ home, tenant, store }),
      principal: () => identity.local(),
      onError,
    });
    this.#repeating = [
      new Repeater(clock, CHECK_MS, () => this.eviction.check(), onError),
      ...(heartbeatMs > 0 ? [new Repeater(clock, heartbeatMs, () => this.heartbeat.beat(), onError)] : []),
    ];
  }

  /** Opens it. Standing agents have their sessions when this settles, if they are to. */
  static async open(options: AgentRunnerOptions): Promise<AgentRunner> {
    const runner = new AgentRunner(options);
    if (options.preloadStanding) await runner.preload();
    return runner;
  }

  /** Gives standing agents their sessions. What goes wrong is told in the background. */
  async preload(): Promise<void> {
    const { harness, onError = () => undefined } = this.#options;
    await preloadStanding({ harness, haak: this.haak, principal: harness.identity.local(), onError });
  }

  /** Ends what it does by itself. Sessions stay as they are. */
  close(): void {
    for (const one of this.#repeating) one.stop();
  }
}
