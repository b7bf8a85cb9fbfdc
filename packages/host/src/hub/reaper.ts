import { Repeater, settlesWithin } from "@reins/kit";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { Session } from "../sessions/session.ts";
import type { HubContext } from "./context.ts";

export interface ReaperOptions {
  /** How long an agent that is not used keeps running. */
  readonly idleMs?: number | undefined;
  /** How long messages, runs with their events, reports of agents and ended approvals are stored; without it, for ever. */
  readonly retentionMs?: number | undefined;
  /** Forgets what else is older than an instant. */
  readonly prune?: ((before: Date) => Promise<void>) | undefined;
}

const IDLE_MS = 30 * 60_000;
const REAP_MS = 60_000;
/** The grace period of turns whose agent is stopped because of another session: less than its successor waits for it. */
const OTHERS_MS = 20_000;

/** Stops idle agents from time to time, whose sessions are parked until the next prompt, and prunes what is old. */
export class Reaper {
  readonly #hub: HubContext;
  readonly #idleMs: number;
  readonly #retentionMs: number | undefined;
  readonly #prune: ReaperOptions["prune"];
  #repeater: Repeater | undefined;

  constructor(hub: HubContext, { idleMs = IDLE_MS, retentionMs, prune }: ReaperOptions) {
    this.#prune = prune;
    this.#hub = hub;
    this.#idleMs = idleMs;
    this.#retentionMs = retentionMs;
  }

  /** Reaps from time to time from now on. */
  start(): void {
    const { clock, onError } = this.#hub;
    this.#repeater = new Repeater(clock, REAP_MS, () => this.reap(), onError);
  }

  stop(): void {
    this.#repeater?.stop();
  }

  /** Stops idle agents, unloads sessions that are not busy, and prunes what is older than the retention time. */
  async reap(): Promise<void> {
    const { clock, harness, log, pool, sessions } = this.#hub;
    const before = clock.now().getTime() - this.#idleMs;
    for (const agent of pool.running) {
      if (agent.isInUse?.()) continue;
      const isIdle = sessions.of(agent).every((session) => !session.isBusy && session.used <= before);
      if (isIdle && pool.wanted(agent) <= before) await restartAgent(this.#hub, agent, "it is idle");
    }
    sessions.unload();
    if (this.#retentionMs === undefined) return;
    const kept = clock.now().getTime() - this.#retentionMs;
    await log.prune(kept);
    await harness.approvals.prune(new Date(kept));
    await harness.runs.prune(new Date(kept));
    await harness.reports.prune(new Date(kept));
    await this.#prune?.(new Date(kept));
  }
}

/** Stops an agent. Its sessions are parked, and the next prompt of each starts a new one. */
export async function restartAgent(
  { sessions, pool, onError }: HubContext,
  agent: HostedAgent,
  reason: string,
): Promise<void> {
  for (const session of sessions.of(agent)) session.apply({ type: "agent_lost" }).catch(onError);
  await pool.end(agent, reason);
}

/** Stops an agent that did not end a cancelled turn of a session. Turns of its other sessions have a grace period. */
export function retireAgent(session: Session, agent: HostedAgent): void {
  const { hub } = session;
  session.apply({ type: "agent_lost" }).catch(hub.onError);
  const over = Promise.all(hub.sessions.of(agent).map(({ queue }) => queue.settled));
  const stopped = settlesWithin(over, OTHERS_MS).then(() =>
    restartAgent(hub, agent, "it did not end a cancelled turn"),
  );
  hub.pool.retire(agent, stopped.catch(hub.onError));
}
