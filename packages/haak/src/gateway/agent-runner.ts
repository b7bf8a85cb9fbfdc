import { type Hosting, type Hub, type SessionRecord, sessionTables } from "@reins/host";
import { type Clock, Repeater, systemClock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { Mailbox } from "../mail/mailbox.ts";
import { Haak } from "./haak.ts";
import { HaakError } from "./protocol.ts";
import { claimedTrust, standingKey } from "./sessions.ts";

/** The close reason of an evicted session. */
const IDLE_EVICTED = "idle_evicted";
const PAGE = 200;

interface EvictionOptions {
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
    const { harness, hub } = this.#options;
    for (const { id: tenant } of await harness.identity.listTenants())
      if (hub.tenants.serves(tenant))
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

export interface AgentRunnerOptions {
  readonly harness: Harness;
  readonly hosting: Pick<Hosting, "hub" | "host" | "catalogue" | "offers" | "redact">;
  /** The agent behind sessions that name none; by default `native`. */
  readonly backend?: string | undefined;
  /** Whether an agent is installed: a client's request installs none. By default each is. */
  readonly isInstalled?: ((agent: string) => Promise<boolean>) | undefined;
  /** How long an unused session of the mode `domain` stays open; by default 30 minutes. */
  readonly ttlMs?: number | undefined;
  /** Whether standing agents get their sessions at the start. */
  readonly preloadStanding?: boolean | undefined;
  /** How often standing agents with unread mail are woken; by default every five minutes, never if 0. */
  readonly heartbeatMs?: number | undefined;
  readonly clock?: Clock;
  /** Receives background errors. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const TTL_MS = 30 * 60_000;
const EVICTION_MS = 60_000;
const HEARTBEAT_MS = 300_000;

/** HAAK's agent runner: the sessions of `/ws`, those of standing agents, their eviction and their heartbeat. */
export class AgentRunner {
  readonly haak: Haak;
  readonly eviction: Eviction;
  readonly #harness: Harness;
  readonly #mailbox: Mailbox;
  readonly #onError: (error: unknown) => void;
  readonly #serves: (tenant: string) => boolean;
  readonly #repeaters: readonly Repeater[];

  private constructor(options: AgentRunnerOptions) {
    const { harness, hosting, heartbeatMs = HEARTBEAT_MS, ttlMs = TTL_MS } = options;
    const { clock = systemClock, onError = () => undefined } = options;
    const { home, store, identity } = harness;
    this.#harness = harness;
    this.#onError = onError;
    this.#serves = (tenant) => hosting.hub.tenants.serves(tenant);
    this.#mailbox = new Mailbox({ home, tenant: identity.local().tenant, store });
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
    this.#repeaters = [
      new Repeater(clock, EVICTION_MS, () => this.eviction.check(), onError),
      ...(heartbeatMs > 0 ? [new Repeater(clock, heartbeatMs, () => this.heartbeat(), onError)] : []),
    ];
  }

  /** Opens it. Preloads standing agents first if the options say so. */
  static async open(options: AgentRunnerOptions): Promise<AgentRunner> {
    const runner = new AgentRunner(options);
    const { harness, hosting, preloadStanding = false } = options;
    if (preloadStanding && !harness.store.node) await runner.preload();
    else if (preloadStanding) hosting.hub.tenants.listen({ adopted: (tenant) => runner.#adopted(tenant) });
    return runner;
  }

  /** Opens the session of every standing agent, `{agent_id}:cli:local`, which is never evicted. Reports failures. */
  async preload(): Promise<void> {
    const { policies, identity } = this.#harness;
    for (const agent_id of this.#standingAgents()) {
      const { backend, model } = { backend: undefined, model: undefined, ...policies.roster.find(agent_id) };
      const params = {
        agent_id,
        session_key: standingKey(agent_id),
        mode: "persistent" as const,
        ...(typeof backend === "string" && { backend }),
        ...(typeof model === "string" && { model }),
      };
      try {
        await this.haak.init(identity.local(), params);
      } catch (error) {
        this.#onError(new Error(`the session of ${agent_id} cannot be opened`, { cause: error }));
      }
    }
  }

  /** Wakes an idle persistent session of each standing agent with unread mail. The turn itself takes the mail. */
  async heartbeat(): Promise<void> {
    if (!this.#serves(this.#harness.identity.local().tenant)) return;
    for (const agent of this.#standingAgents()) {
      const unread = await this.#mailbox.unreadFor(agent);
      const key = unread.length > 0 ? await this.#idleKey(agent) : undefined;
      if (key !== undefined) this.#wake(agent, key, unread.length).catch(this.#onError);
    }
  }

  /** Stops eviction and heartbeat. Sessions stay as they are. */
  close(): void {
    for (const repeater of this.#repeaters) repeater.stop();
  }

  /** An agent may take time to start, for which the tenant's requests do not wait. */
  async #adopted(tenant: string): Promise<void> {
    if (tenant === this.#harness.identity.local().tenant) void this.preload();
  }

  #standingAgents(): readonly string[] {
    const { roster } = this.#harness.policies;
    const agents = new Set(roster.entries.map(({ session_id }) => session_id));
    return [...agents].filter((agent) => roster.trustOf(agent) === "standing");
  }

  /** The key of the agent's first idle session: the others would find no mail. */
  async #idleKey(agent: string): Promise<string | undefined> {
    const principal = this.#harness.identity.local();
    for (const key of await this.haak.persistentKeys(principal, agent)) {
      const status = await this.haak.status(principal, key).catch((error: unknown) => {
        if (!(error instanceof HaakError)) throw error;
      });
      if (status === "idle") return key;
    }
    return undefined;
  }

  async #wake(agent: string, session_key: string, count: number): Promise<void> {
    const text = `You have ${count} unread mailbox message(s). Check your mailbox and act on any pending messages.`;
    const params = {
      session_key,
      message: { role: "user" as const, content: [{ type: "text" as const, text }] },
    };
    await this.haak.run(this.#harness.identity.local(), params, (event) => {
      if (event.type === "error") this.#onError(new Error(`${agent}: ${event.message}`));
    });
  }
}
