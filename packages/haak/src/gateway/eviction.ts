import { type Hub, type SessionRecord, sessionTables } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Haak } from "./haak.ts";
import { trustOf } from "./open-session.ts";

/** Why a session was closed that nobody used. */
const IDLE_EVICTED = "idle_evicted";

/** What eviction stands on. */
export interface EvictionOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly haak: Pick<Haak, "end" | "sessions">;
  readonly clock: Pick<Clock, "now">;
  /** How long a session of the mode `domain` stays open that nobody uses. */
  readonly ttlMs: number;
}

const PAGE = 200;

/**
 * Closes sessions of the mode `domain` that nobody has used for long; they stay on disk. One in the middle of a turn is
 * marked, and closed when the turn is over. Those of standing agents stay open.
 */
export class Eviction {
  readonly #options: EvictionOptions;
  readonly #marked = new Set<string>();

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /** Whether a session is to be closed as soon as its turn is over. */
  isMarked(id: string): boolean {
    return this.#marked.has(id);
  }

  /** Looks at every session that may be closed. */
  async check(): Promise<void> {
    const { harness } = this.#options;
    for (const { id: tenant } of await harness.identity.listTenants())
      for (const record of await this.#unused(tenant)) await this.#look(record);
    for (const id of this.#marked) await this.turnOver(id);
  }

  /** Closes a session whose turn is over, if it was marked. */
  async turnOver(id: string): Promise<void> {
    if (!this.#marked.has(id)) return;
    if (this.#isBusy(id)) return;
    this.#marked.delete(id);
    const live = this.#options.hub.live(id);
    if (live) await this.#evict(live.record);
  }

  /** Whether a turn of a session runs, or waits to. */
  #isBusy(id: string): boolean {
    const { hub, haak } = this.#options;
    return hub.live(id)?.isBusy === true || (haak.sessions.known(id)?.turns.size ?? 0) > 0;
  }

  /** Whoever was last active before this moment has been idle for too long. */
  #deadline(): string {
    const { clock, ttlMs } = this.#options;
    return new Date(clock.now().getTime() - ttlMs).toISOString();
  }

  /** All of them before any is closed, because that changes their order. */
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

  /** Somebody may have come back to it since it was found. */
  async #look(found: SessionRecord): Promise<void> {
    const record = this.#options.hub.live(found.id)?.record ?? found;
    if (record.last_activity >= this.#deadline()) return;
    if (this.#isBusy(record.id)) this.#marked.add(record.id);
    else await this.#evict(record);
  }

  async #evict(record: SessionRecord): Promise<void> {
    const { harness, haak } = this.#options;
    const principal = await harness.identity.current({ id: record.principal });
    const agent = record.acts_as ?? record.agent;
    if (principal && trustOf(harness, principal, agent) === "standing") return;
    await haak.end(principal ?? harness.identity.local(), record, IDLE_EVICTED);
  }
}
