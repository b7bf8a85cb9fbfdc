import type { Clock, Principal } from "@reins/supervisor";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { Clients } from "../governor/clients.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { AgentHost, HostedAgent, StartOptions } from "../hosting/agent-host.ts";
import { Restarts } from "../process/restarts.ts";

/** What a pool needs. */
export interface AgentPoolOptions {
  readonly host: Pick<AgentHost, "start"> & Partial<Pick<AgentHost, "networkFor">>;
  readonly clients: (session: GovernedSession) => Clients;
  /** Told when an agent has gone, with why. */
  readonly onGone: (agent: HostedAgent, reason: Error) => void;
  readonly clock: Clock;
}

/**
 * Agents that run: one for each agent and principal, shared by their sessions, never by two principals. One that the
 * operating system confines is confined to its folders, so there is one for each set of them.
 */
export class AgentPool {
  readonly #options: AgentPoolOptions;
  readonly #agents = new Map<string, Promise<HostedAgent>>();
  /** When each was last wanted. */
  readonly #wanted = new WeakMap<HostedAgent, number>();
  readonly #keys = new WeakMap<HostedAgent, string>();
  readonly #ending = new WeakSet<HostedAgent>();
  readonly #restarts = new Restarts();
  /** When each died by itself lately. */
  readonly #crashes = new Map<string, readonly number[]>();
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(options: AgentPoolOptions) {
    this.#options = options;
  }

  /** The agent of a principal for work in some folders, started if it does not run. */
  async acquire(agent: string, principal: Principal, roots: readonly string[] = []): Promise<HostedAgent> {
    if (this.#closed) throw new Error("Reins is stopping");
    const network = this.#options.host.networkFor?.(agent);
    const acquired = await this.#acquire(agent, principal, network && { roots, network });
    this.#wanted.set(acquired, this.#now());
    return acquired;
  }

  /** When an agent was last wanted, in milliseconds since 1970. */
  wanted(agent: HostedAgent): number {
    return this.#wanted.get(agent) ?? 0;
  }

  /** The agents that run now. */
  async running(): Promise<readonly HostedAgent[]> {
    const settled = await Promise.allSettled(this.#agents.values());
    return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  }

  /** Ends one that is not needed now; whoever needs it later gets a new one. */
  async end(agent: HostedAgent, reason: string): Promise<void> {
    const key = this.#keys.get(agent);
    if (key !== undefined) this.#agents.delete(key);
    this.#ending.add(agent);
    await agent.stop(reason);
  }

  /** Ends all of them. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting) wake();
    const agents = await this.running();
    for (const agent of agents) this.#ending.add(agent);
    await Promise.all(agents.map((agent) => agent.stop(reason)));
  }

  #acquire(agent: string, principal: Principal, confine: StartOptions["confine"]): Promise<HostedAgent> {
    const key = JSON.stringify([principal.tenant, principal.id, agent, ...(confine?.roots ?? [])]);
    const known = this.#agents.get(key);
    if (known) return known;
    const starting = this.#start(key, agent, { principal, confine });
    this.#agents.set(key, starting);
    starting.catch(() => this.#agents.delete(key));
    return starting;
  }

  async #start(
    key: string,
    id: string,
    start: Pick<StartOptions, "principal" | "confine">,
  ): Promise<HostedAgent> {
    const { host, clients, onGone } = this.#options;
    await this.#recover(key, id);
    const agent = await host.start(id, { ...start, from: "acp", clients, showReplays: false });
    this.#keys.set(agent, key);
    const gone = () => {
      // One that was started in its place meanwhile stays.
      if (this.#agents.get(key) === starting) this.#agents.delete(key);
      if (this.#ending.has(agent)) return;
      this.#crashes.set(key, this.#restarts.remember(this.#crashes.get(key) ?? [], this.#now()));
      const { reason } = agent.governor.signal;
      onGone(agent, reason instanceof Error ? reason : new Error(String(reason)));
    };
    const starting = this.#agents.get(key);
    if (agent.governor.signal.aborted) gone();
    else agent.governor.signal.addEventListener("abort", gone, { once: true });
    return agent;
  }

  /** One that dies again and again is started later each time, and after a while not until somebody may have looked. */
  async #recover(key: string, id: string): Promise<void> {
    const crashes = this.#crashes.get(key) ?? [];
    const { at, givenUp } = this.#restarts.next(crashes);
    const left = at - this.#now();
    if (left <= 0) return;
    if (givenUp) {
      const when = new Date(at).toISOString();
      const message = `${id} has ended by itself ${crashes.length} times in a short while; see what it said. It is not started again before ${when}`;
      throw new RpcError(CODE.internal, message);
    }
    await this.#wait(left);
    if (this.#closed) throw new Error("Reins is stopping");
  }

  /** Waits for so long, or until the pool is closed. */
  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        callOff();
        this.#waiting.delete(wake);
        resolve();
      };
      const callOff = this.#options.clock.after(milliseconds, wake);
      this.#waiting.add(wake);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
