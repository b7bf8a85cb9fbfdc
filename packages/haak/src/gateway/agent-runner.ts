import type { Hosting } from "@reins/host";
import { type Clock, Repeater, systemClock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { Mailbox } from "../mail/mailbox.ts";
import { Eviction } from "./eviction.ts";
import { Haak, type InitializedSession } from "./haak.ts";
import { HaakError } from "./protocol.ts";
import { standingKey } from "./sessions.ts";

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

/** What the heartbeat stands on. */
export interface HeartbeatOptions {
  readonly harness: Pick<Harness, "policies">;
  readonly haak: Pick<Haak, "status" | "run" | "persistentKeys">;
  readonly mailbox: Pick<Mailbox, "unreadFor">;
  /** Whose sessions the standing agents have. */
  readonly principal: () => Principal;
  /** Told of a turn that could not be had. */
  readonly onError: (error: unknown) => void;
}

/**
 * Wakes a persistent session of each standing agent that has unread mail and nothing to do. It marks nothing as read: the turn it begins takes the
 * mail, like any other.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Looks at every standing agent once. The turns it begins are not waited for. */
  async beat(): Promise<void> {
    const { policies } = this.#options.harness;
    const { roster } = policies;
    const agents = new Set(roster.entries.map(({ session_id }) => session_id));
    for (const agent of agents) if (roster.trustOf(agent) === "standing") await this.#look(agent);
  }

  async #look(agent: string): Promise<void> {
    const { haak, mailbox, principal, onError } = this.#options;
    const unread = await mailbox.unreadFor(agent);
    if (unread.length === 0) return;
    // The first that is free takes the mail; for another there would be nothing left.
    for (const key of await haak.persistentKeys(principal(), agent)) {
      if (!(await this.#isIdle(key))) continue;
      this.#wake(agent, key, unread.length).catch(onError);
      return;
    }
  }

  async #isIdle(key: string): Promise<boolean> {
    const { haak, principal } = this.#options;
    try {
      return (await haak.status(principal(), key)) === "idle";
    } catch (error) {
      // Without a session there is nobody to wake.
      if (error instanceof HaakError) return false;
      throw error;
    }
  }

  async #wake(agent: string, session_key: string, count: number): Promise<void> {
    const { haak, principal, onError } = this.#options;
    const text = `You have ${count} unread mailbox message(s). Check your mailbox and act on any pending messages.`;
    const params = {
      session_key,
      message: { role: "user" as const, content: [{ type: "text" as const, text }] },
    };
    await haak.run(principal(), params, (event) => {
      if (event.type === "error") onError(new Error(`${agent}: ${event.message}`));
    });
  }
}

/** What preloading stands on. */
export interface PreloadOptions {
  readonly harness: Pick<Harness, "policies">;
  readonly haak: Pick<Haak, "init">;
  /** Whose sessions the standing agents have. */
  readonly principal: Principal;
  /** Told of an agent whose session cannot be had; the others get theirs. */
  readonly onError: (error: unknown) => void;
}

/** Gives every standing agent its session, `{agent_id}:cli:local`, which is never evicted. */
export async function preloadStanding(options: PreloadOptions): Promise<readonly InitializedSession[]> {
  const { harness, haak, principal, onError } = options;
  const { roster } = harness.policies;
  const agents = new Set(roster.entries.map(({ session_id }) => session_id));
  const loaded: InitializedSession[] = [];
  for (const agent_id of agents) {
    if (roster.trustOf(agent_id) !== "standing") continue;
    const { backend, model } = { backend: undefined, model: undefined, ...roster.find(agent_id) };
    const params = {
      agent_id,
      session_key: standingKey(agent_id),
      mode: "persistent" as const,
      ...(typeof backend === "string" && { backend }),
      ...(typeof model === "string" && { model }),
    };
    try {
      loaded.push(await haak.init(principal, params));
    } catch (error) {
      onError(new Error(`the session of ${agent_id} cannot be had`, { cause: error }));
    }
  }
  return loaded;
}
