import { settlesWithin } from "@reins/kit";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { HubContext } from "./context.ts";
import type { LiveSession } from "./live-session.ts";

/** How long things are left alone. */
export interface RestOptions {
  /** How long an agent that nobody uses runs on. */
  readonly idleMs?: number | undefined;
  /** How long messages, events of runs, reports of agents and approvals that ended are kept; without it, for ever. */
  readonly retentionMs?: number | undefined;
}

const IDLE_MS = 30 * 60_000;
const REAP_MS = 60_000;
/** How long turns may go on whose agent is to be ended because of another session: less than its successor waits for it. */
const OTHERS_MS = 20_000;

/** Lets agents go that have gone, or that nobody uses. Their sessions wait for the next prompt. */
export class Rest {
  readonly #context: HubContext;
  readonly #idleMs: number;
  readonly #retentionMs: number | undefined;
  #callOffReaping: () => void = () => undefined;
  #ended = false;

  constructor(context: HubContext, { idleMs = IDLE_MS, retentionMs }: RestOptions) {
    this.#context = context;
    this.#idleMs = idleMs;
    this.#retentionMs = retentionMs;
  }

  /** Reaps from time to time from now on. */
  begin(): void {
    const { clock, onError } = this.#context;
    this.#callOffReaping = clock.after(REAP_MS, () => {
      this.reap()
        .catch(onError)
        .finally(() => this.#ended || this.begin());
    });
  }

  /** Reaps no more by itself. */
  end(): void {
    this.#ended = true;
    this.#callOffReaping();
  }

  /**
   * Ends agents that nobody has used for a while, and forgets sessions that wait for nobody, which come back when they
   * are wanted; forgets for good what is too old to be kept.
   */
  async reap(): Promise<void> {
    const { clock, harness, log, pool, sessions } = this.#context;
    const before = clock.now().getTime() - this.#idleMs;
    for (const agent of pool.running) {
      const its = sessions.of(agent);
      const isIdle = its.every((session) => !session.isBusy && session.used <= before);
      if (isIdle && pool.wanted(agent) <= before)
        await this.#letGo(agent, its, () => pool.end(agent, "nobody has used it for a while"));
    }
    for (const session of sessions.all) if (!session.agent && !session.isBusy) sessions.forget(session.id);
    if (this.#retentionMs === undefined) return;
    const kept = clock.now().getTime() - this.#retentionMs;
    await log.prune(kept);
    await harness.approvals.prune(new Date(kept));
    await harness.runs.prune(new Date(kept));
    await harness.reports.prune(new Date(kept));
  }

  /** Ends an agent that runs. Its sessions stay, and the next prompt of each starts a new one. */
  async restart(agent: HostedAgent, reason: string): Promise<void> {
    const { pool, sessions } = this.#context;
    await this.#letGo(agent, sessions.of(agent), () => pool.end(agent, reason));
  }

  /** Ends an agent that goes on with a turn that was cancelled. Turns of its other sessions have a while to end. */
  overran(agent: HostedAgent, session: LiveSession): void {
    const { pool, sessions, onError } = this.#context;
    const others = sessions.of(agent).filter((other) => other !== session);
    session.agent = undefined;
    const over = Promise.all(others.map(({ queue }) => queue.settled));
    const stop = () => pool.end(agent, "it went on with a turn that was cancelled");
    const ended = settlesWithin(over, OTHERS_MS).then(() => this.#letGo(agent, [session, ...others], stop));
    pool.retire(
      agent,
      ended.catch((error: unknown) => onError(error)),
    );
  }

  /** The sessions of an agent that has gone wait for the next prompt. */
  gone(agent: HostedAgent, reason: Error): void {
    const { pool, sessions, onError } = this.#context;
    void this.#letGo(agent, sessions.of(agent), () => pool.end(agent, reason.message)).catch(onError);
  }

  /** Sessions outlive their agent, whatever the governor writes when it ends. */
  async #letGo(
    agent: HostedAgent,
    sessions: readonly LiveSession[],
    stop: () => Promise<unknown>,
  ): Promise<void> {
    for (const session of sessions) session.agent = undefined;
    await stop();
    for (const session of sessions)
      if (!session.record.ended && (session.agent === undefined || session.agent === agent))
        await this.#context.sessions.keepAgain(session);
  }
}
