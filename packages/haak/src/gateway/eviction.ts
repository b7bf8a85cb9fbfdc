import { type Hub, type SessionRecord, sessionTables } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Haak } from "./haak.ts";
import { claimedTrust } from "./open-session.ts";

/** The close reason of an evicted session. */
const IDLE_EVICTED = "idle_evicted";
const PAGE = 200;

export interface EvictionOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly haak: Pick<Haak, "end" | "sessions">;
  readonly clock: Pick<Clock, "now">;
  /** How long an unused session of the mode `domain` stays open. */
  readonly ttlMs: number;
}

/**
 * Closes unused sessions of the mode `domain`; they stay on disk. A session with a running turn is marked and closed
 * after the turn. Sessions of standing agents stay open.
 */
export class Eviction {
  readonly #options: EvictionOptions;
  readonly #marked = new Set<string>();

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /** Whether a session is closed as soon as its turn is over. */
  isMarked(id: string): boolean {
    return this.#marked.has(id);
  }

  /** Checks every open session. */
  async check(): Promise<void> {
    const { harness } = this.#options;
    for (const { id: tenant } of await harness.identity.listTenants())
      for (const record of await this.#unused(tenant)) await this.#checkSession(record);
    for (const id of this.#marked) await this.turnOver(id);
  }

  /** Closes a marked session whose turn is over. */
  async turnOver(id: string): Promise<void> {
    if (!this.#marked.has(id) || this.#isBusy(id)) return;
    this.#marked.delete(id);
    const live = this.#options.hub.live(id);
    if (live) await this.#evict(live.record);
  }

  /** Whether a turn of a session runs or waits. */
  #isBusy(id: string): boolean {
    const { hub, haak } = this.#options;
    return hub.live(id)?.isBusy === true || (haak.sessions.used(id)?.turns.size ?? 0) > 0;
  }

  /** Sessions that were last active before it are evicted. */
  #deadline(): string {
    const { clock, ttlMs } = this.#options;
    return new Date(clock.now().getTime() - ttlMs).toISOString();
  }

  /** Reads all pages first, because closing a session changes their order. */
  async #unused(tenant: string): Promise<readonly SessionRecord[]> {
    const { harness } = this.#options;
    const before = this.#deadline();
    const range = { tenant, mode: "domain", open: true, before, limit: PAGE } as const;
    const found: SessionRecord[] = [];
    for (;;) {
      const page = await harness.store.query(sessionTables, "list", { ...range, after: found.at(-1)?.id });
      found.push(...page);
      if (page.length < PAGE) return found;
    }
  }

  /** Checks the activity again, because the session may have been used since it was found. */
  async #checkSession(found: SessionRecord): Promise<void> {
    const record = this.#options.hub.live(found.id)?.record ?? found;
    if (record.last_activity >= this.#deadline()) return;
    if (this.#isBusy(record.id)) this.#marked.add(record.id);
    else await this.#evict(record);
  }

  async #evict(record: SessionRecord): Promise<void> {
    const { harness, haak } = this.#options;
    const principal = await harness.identity.current({ id: record.principal });
    const agent = record.acts_as ?? record.agent;
    if (principal && claimedTrust(harness, principal, agent) === "standing") return;
    await haak.end(principal ?? harness.identity.local(), record, IDLE_EVICTED);
  }
}
