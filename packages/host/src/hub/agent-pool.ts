import { randomUUID } from "node:crypto";
import { CODE, RpcError } from "@reins/acp";
import { type Clock, settlesWithin } from "@reins/kit";
import { Restarts } from "@reins/runner";
import type { Principal } from "@reins/supervisor";
import type { AgentHost, HostedAgent, StartOptions } from "../hosting/agent-host.ts";
import { quotaRpcError } from "../sessions/sessions.ts";

export interface AgentPoolOptions {
  readonly host: Pick<AgentHost, "start"> &
    Partial<
      Pick<AgentHost, "networkFor" | "folders" | "separates" | "isBuiltIn" | "serversFor" | "isMetered">
    >;
  /** The clients of what agents ask outside of every session. */
  readonly clients: StartOptions["clients"];
  /** Called when an agent is gone, with the reason. */
  readonly onGone: (agent: HostedAgent, reason: Error) => void;
  readonly clock: Clock;
  /** Refuses one more process of a principal; throws a `QuotaError`. */
  readonly requireRoom?: (principal: Principal, running: { principal: number; tenant: number }) => void;
}

/** The key under which an agent was started. */
interface Slot {
  readonly key: string;
  readonly starting: Promise<HostedAgent> | undefined;
}

/** How long a start waits at most for the predecessor to stop: longer than killing one that ignores the request takes. */
const LEAVING_MS = 30_000;

/**
 * The agents that run: one for each agent and principal, shared by their sessions, never by two principals. A confined
 * agent is confined to its folders, so there is one for each set of them; an agent that mixes up the MCP servers of its
 * sessions is started for each session that has any, and one that Reins does not build in for each session of a
 * subagent, which could speak in other sessions of its process and so escape its limits.
 */
export class AgentPool {
  readonly #options: AgentPoolOptions;
  readonly #agents = new Map<string, Promise<HostedAgent>>();
  /** When each was last wanted. */
  readonly #wanted = new WeakMap<HostedAgent, number>();
  readonly #running = new Set<HostedAgent>();
  readonly #slots = new WeakMap<HostedAgent, Slot>();
  readonly #ending = new WeakSet<HostedAgent>();
  /** Agents that are being stopped, each until its home is free. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #restarts = new Restarts();
  /** When each died by itself lately. */
  readonly #crashes = new Map<string, readonly number[]>();
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(options: AgentPoolOptions) {
    this.#options = options;
  }

  /** The agent of a principal for work in some folders, started if it does not run. */
  async acquire(
    agent: string,
    principal: Principal,
    wanted: readonly string[] = [],
    /** Names a session that has MCP servers. */
    withServers?: string,
    /** Names a session of a subagent. */
    asChild?: string,
  ): Promise<HostedAgent> {
    if (this.#closed) throw new Error("Reins is stopping");
    const { host } = this.#options;
    const network = host.networkFor?.(agent);
    const confine = network && { ...(await this.#admit(agent, principal, wanted)), network };
    const own = host.isBuiltIn?.(agent) ? undefined : asChild;
    const hasConfigured = (host.serversFor?.(agent, principal.tenant) ?? []).length > 0;
    const servers = withServers ?? (hasConfigured ? randomUUID() : undefined);
    const apart = own ?? (this.separates(agent) || this.isMetered(agent) ? servers : undefined);
    const acquired = await this.#acquire(agent, principal, confine, apart);
    this.#wanted.set(acquired, this.#now());
    return acquired;
  }

  /** Whether sessions of an agent that have MCP servers need a process each. */
  separates(agent: string): boolean {
    return this.#options.host.separates?.(agent) ?? false;
  }

  /** Whether each session of an agent needs a process, with a token for the gateway to models. */
  isMetered(agent: string): boolean {
    return this.#options.host.isMetered?.(agent) ?? false;
  }

  /** Whether the operating system keeps an agent to the folders that it was started for. */
  confines(agent: string): boolean {
    return this.#options.host.networkFor?.(agent) !== undefined;
  }

  /** When an agent was last wanted, in milliseconds since 1970. */
  wanted(agent: HostedAgent): number {
    return this.#wanted.get(agent) ?? 0;
  }

  /** The agents that run now; one that is being started, or installed before that, is not waited for. */
  get running(): readonly HostedAgent[] {
    return [...this.#running];
  }

  /** Those that run for a tenant. */
  ofTenant(tenant: string): readonly HostedAgent[] {
    return this.running.filter((agent) => JSON.parse(this.#slots.get(agent)?.key ?? "[]")[0] === tenant);
  }

  /** Stops an agent, or removes one that died; the next request for it starts a new one. */
  async end(agent: HostedAgent, reason: string): Promise<void> {
    this.#ending.add(agent);
    this.#leave(agent);
    const { key = "" } = this.#slots.get(agent) ?? {};
    const stopping = agent.stop(reason);
    const left = stopping.catch(() => undefined);
    this.#leaving.set(key, left);
    try {
      await stopping;
    } finally {
      if (this.#leaving.get(key) === left) this.#leaving.delete(key);
    }
  }

  /** Hands an agent out no more; the next request waits until this one has ended. */
  retire(agent: HostedAgent, ended: Promise<unknown>): void {
    this.#ending.add(agent);
    this.#leave(agent);
    const slot = this.#slots.get(agent);
    if (slot) this.#leaving.set(slot.key, ended);
  }

  /** Stops all of them. Rejects after that if one could not be stopped. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting) wake();
    await Promise.allSettled(this.#agents.values());
    const stopped = await Promise.allSettled(this.running.map((agent) => this.end(agent, reason)));
    await Promise.all(this.#leaving.values());
    for (const one of stopped) if (one.status === "rejected") throw one.reason;
  }

  /** A confined agent sees its folders from its start: those that were checked, and no others under their names. */
  async #admit(
    agent: string,
    principal: Principal,
    wanted: readonly string[],
  ): Promise<Pick<NonNullable<StartOptions["confine"]>, "roots" | "identities">> {
    const { folders } = this.#options.host;
    const [cwd, ...additional] = wanted;
    if (!folders || cwd === undefined) return { roots: wanted };
    const asked = { principal, agent, method: "session/new", cwd, additional, isConfined: true };
    const admitted = await folders.admit(asked);
    return { roots: [admitted.cwd, ...admitted.additional], identities: admitted.identities };
  }

  #requireRoom(principal: Principal): void {
    const owners = [...this.#agents.keys()].map((key): readonly unknown[] => JSON.parse(key));
    const ofTenant = owners.filter(([tenant]) => tenant === principal.tenant);
    const own = ofTenant.filter(([, id]) => id === principal.id);
    try {
      this.#options.requireRoom?.(principal, { principal: own.length, tenant: ofTenant.length });
    } catch (error) {
      throw quotaRpcError(error);
    }
  }

  async #acquire(
    agent: string,
    principal: Principal,
    confine: StartOptions["confine"],
    apart: string | undefined,
  ): Promise<HostedAgent> {
    const roots = confine?.roots ?? [];
    const key = JSON.stringify([
      principal.tenant,
      principal.id,
      agent,
      ...roots,
      // A folder that was replaced is another one.
      ...Object.values(confine?.identities ?? {}),
      ...(apart === undefined ? [] : [{ apart }]),
    ]);
    const known = this.#agents.get(key);
    if (known) return known;
    if (!this.#options.host.isBuiltIn?.(agent)) this.#requireRoom(principal);
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
    // Two in one home would mistake each other's credentials for the user's.
    const leaving = this.#leaving.get(key);
    if (leaving) await settlesWithin(leaving, LEAVING_MS);
    const agent = await host.start(id, { ...start, from: "acp", clients, showReplays: false });
    this.#running.add(agent);
    this.#slots.set(agent, { key, starting: this.#agents.get(key) });
    const gone = () => {
      this.#leave(agent);
      if (this.#ending.has(agent)) return;
      this.#crashes.set(key, this.#restarts.remember(this.#crashes.get(key) ?? [], this.#now()));
      const { reason } = agent.governor.signal;
      onGone(agent, reason instanceof Error ? reason : new Error(String(reason)));
    };
    if (agent.governor.signal.aborted) gone();
    else agent.governor.signal.addEventListener("abort", gone, { once: true });
    return agent;
  }

  /** Removes an agent from those that run. One that has replaced it meanwhile stays. */
  #leave(agent: HostedAgent): void {
    this.#running.delete(agent);
    const slot = this.#slots.get(agent);
    if (slot && this.#agents.get(slot.key) === slot.starting) this.#agents.delete(slot.key);
  }

  /** Backs off before an agent that keeps dying is started again, and gives up after some tries. */
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
        cancel();
        this.#waiting.delete(wake);
        resolve();
      };
      const cancel = this.#options.clock.after(milliseconds, wake);
      this.#waiting.add(wake);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
