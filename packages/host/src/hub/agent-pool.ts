import type { Principal } from "@reins/supervisor";
import type { Clients } from "../governor/clients.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { AgentHost, HostedAgent } from "../hosting/agent-host.ts";

/** What a pool needs. */
export interface AgentPoolOptions {
  readonly host: Pick<AgentHost, "start">;
  readonly clients: (session: GovernedSession) => Clients;
  /** Told when an agent has gone, with why. */
  readonly onGone: (agent: HostedAgent, reason: Error) => void;
}

/** Agents that run: one for each agent and principal, shared by their sessions, never by two principals. */
export class AgentPool {
  readonly #options: AgentPoolOptions;
  readonly #agents = new Map<string, Promise<HostedAgent>>();
  #closed = false;

  constructor(options: AgentPoolOptions) {
    this.#options = options;
  }

  /** The agent of a principal, started if it does not run. */
  acquire(agent: string, principal: Principal): Promise<HostedAgent> {
    if (this.#closed) return Promise.reject(new Error("Reins is stopping"));
    const key = JSON.stringify([principal.tenant, principal.id, agent]);
    const known = this.#agents.get(key);
    if (known) return known;
    const starting = this.#start(key, agent, principal);
    this.#agents.set(key, starting);
    starting.catch(() => this.#agents.delete(key));
    return starting;
  }

  /** The agents that run now. */
  async running(): Promise<readonly HostedAgent[]> {
    const settled = await Promise.allSettled(this.#agents.values());
    return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  }

  /** Ends all of them. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    await Promise.all((await this.running()).map((agent) => agent.stop(reason)));
  }

  async #start(key: string, id: string, principal: Principal): Promise<HostedAgent> {
    const { host, clients, onGone } = this.#options;
    const agent = await host.start(id, { principal, from: "acp", clients, showReplays: false });
    agent.governor.signal.addEventListener("abort", () => {
      this.#agents.delete(key);
      const { reason } = agent.governor.signal;
      onGone(agent, reason instanceof Error ? reason : new Error(String(reason)));
    });
    return agent;
  }
}
