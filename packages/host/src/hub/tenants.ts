import { interruptedBy } from "@reins/acp";
import type { HubContext } from "./context.ts";
import { restartAgent } from "./reaper.ts";
import { recover } from "./recovery.ts";

/** What the rest of the process does for a tenant that it comes to serve, or serves no more. */
export interface TenantListener {
  /** Called when its sessions are recovered, before anything is asked of them. */
  adopted?(tenant: string): Promise<unknown>;
  /** Whether work for it is under way that no session shows. */
  isBusy?(tenant: string): boolean;
  /** Called when none of its sessions is served any more. */
  released?(tenant: string): Promise<void>;
}

/**
 * The tenants that this process serves. One that has the database to itself serves all; one of several nodes serves those
 * that it owns, and recovers what the owner before left when it takes a tenant over.
 */
export class Tenants {
  readonly #hub: HubContext;
  readonly #isNode: boolean;
  readonly #adopting = new Map<string, Promise<void>>();
  readonly #served = new Set<string>();
  readonly #leaving = new Set<string>();
  readonly #listeners = new Set<TenantListener>();

  constructor(hub: HubContext) {
    this.#hub = hub;
    this.#isNode = hub.harness.store.node !== undefined;
  }

  /** Whether a tenant is served here. */
  serves(tenant: string): boolean {
    return !this.#isNode || this.#served.has(tenant);
  }

  /** Those that a node serves. */
  get all(): readonly string[] {
    return [...this.#served];
  }

  /** Calls a listener from now on; returns the function that removes it. */
  listen(listener: TenantListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Throws where a tenant is being handed over, in which no turn begins. */
  expectStaying(tenant: string): void {
    if (this.#leaving.has(tenant)) throw interruptedBy("the session moves to another node");
  }

  /** Serves a tenant that this node owns; settles when what the owner before left is recovered. */
  adopt(tenant: string): Promise<void> {
    if (!this.#isNode) return Promise.resolve();
    const adopting = this.#adopting.get(tenant) ?? this.#adopt(tenant);
    this.#adopting.set(tenant, adopting);
    adopting.catch(() => this.#adopting.delete(tenant));
    return adopting;
  }

  /** Whether a turn or a run of a tenant is under way. */
  isBusy(tenant: string): boolean {
    const { sessions } = this.#hub;
    return (
      sessions.all.some(({ record, isBusy }) => record.tenant === tenant && isBusy) ||
      [...this.#listeners].some((listener) => listener.isBusy?.(tenant))
    );
  }

  /** Serves a tenant no more, if nothing of it is under way; returns whether it does not. All of it is in the store then. */
  async release(tenant: string): Promise<boolean> {
    if (this.isBusy(tenant)) return false;
    const { sessions, pool, log } = this.#hub;
    this.#leaving.add(tenant);
    try {
      await this.#adopting.get(tenant)?.catch(() => undefined);
      for (const agent of pool.ofTenant(tenant))
        await restartAgent(this.#hub, agent, "its sessions move to another node");
      await sessions.flush();
      for (const session of sessions.all) if (session.record.tenant === tenant) sessions.forget(session);
      this.#served.delete(tenant);
      this.#adopting.delete(tenant);
      for (const listener of this.#listeners) await listener.released?.(tenant);
      await log.flush();
      log.release(tenant);
      return true;
    } finally {
      this.#leaving.delete(tenant);
    }
  }

  async #adopt(tenant: string): Promise<void> {
    await this.#hub.log.adopt(tenant);
    await recover(this.#hub, [tenant]);
    for (const listener of this.#listeners) await listener.adopted?.(tenant);
    this.#served.add(tenant);
  }
}
