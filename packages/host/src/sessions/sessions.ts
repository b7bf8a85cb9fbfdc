import { CODE, RpcError } from "@reins/acp";
import { LruCache } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { change, parseStored, type Store } from "@reins/store";
import {
  type Harness,
  isAdmin,
  type Principal,
  QuotaError,
  scrubbed,
  type Vault,
  VaultError,
} from "@reins/supervisor";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { HubContext } from "../hub/context.ts";
import { registerBuffer } from "../log/backlog.ts";
import { noSession, Session } from "./session.ts";
import { AskedQuestions } from "./session-clients.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionPhase } from "./session-state.ts";
import { type SessionRange, sessionTables } from "./tables.ts";

/** Receives the record of every session that is new or changed. */
export type SessionWatcher = (record: SessionRecord) => void;

/** How long a write may be delayed to be merged with the next: in a busy session, its next turn starts within it. */
const LATER_MS = 20;
const PAGE = 100;

/**
 * The sessions that this process serves, and those that are stored. The only writer of their records: the writes of one
 * session are committed in the order of the calls.
 */
export class Sessions {
  /** The questions of all sessions. */
  readonly asking = new AskedQuestions();
  readonly #hub: HubContext;
  readonly #served = new Map<string, Session>();
  readonly #watchers = new Set<SessionWatcher>();
  /** The sessions whose record {@link putLater} has still to write. */
  readonly #later = new Map<string, Pick<Session, "record">>();
  /** Writes with a ledger entry that are not committed yet: the ledger takes longer than a plain commit. */
  readonly #entering = new Map<string, Promise<void>>();
  /** A record never changes: its successor is another object. */
  readonly #stored = new WeakSet<SessionRecord>();
  readonly #unregister: () => void;
  #cancelFlush: (() => void) | undefined;

  constructor(hub: HubContext) {
    this.#hub = hub;
    this.#unregister = registerBuffer(hub.harness.store, () => this.flush());
  }

  /** A session that is served here. */
  get(id: string): Session | undefined {
    return this.#served.get(id);
  }

  /** All that are served here. */
  get all(): readonly Session[] {
    return [...this.#served.values()];
  }

  /** Those that an agent has, or is starting or resuming. */
  of(agent: HostedAgent): readonly Session[] {
    return this.all.filter((session) => session.isWith(agent));
  }

  /** One that is served here, if the principal may see it and it has not ended. */
  open(principal: Principal, id: unknown): Session | undefined {
    const session = typeof id === "string" ? this.#served.get(id) : undefined;
    return session && !session.record.ended && maySee(principal, session.record) ? session : undefined;
  }

  /** Serves a stored session from now on. */
  serve(record: SessionRecord): Session {
    return this.#served.get(record.id) ?? this.#add(record);
  }

  /** Registers a new session that an agent is about to start. */
  create(record: SessionRecord, agent: HostedAgent): Session {
    if (this.#served.has(record.id))
      throw new RpcError(CODE.invalidParams, `there is a session "${record.key}" already; resume that one`);
    const session = this.#add(record, "starting");
    session.assign(agent);
    return session;
  }

  /** Stops serving a session. */
  forget(session: Session): void {
    if (this.#served.get(session.id) === session) this.#served.delete(session.id);
  }

  /** Stops serving the sessions that no agent has and that are not busy; the store has their records. */
  unload(): void {
    for (const session of this.all)
      if (!session.agent && !session.isBusy && this.isStored(session.record)) this.forget(session);
  }

  /** The sessions that a principal may see, the most recently used first. */
  async list(principal: Principal, range: Partial<SessionRange> = {}): Promise<SessionRecord[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const stored = await this.stored({ limit: 100, ...range, ...own, tenant });
    return stored.map((record) => this.#served.get(record.id)?.record ?? record);
  }

  /** The stored sessions of a range, of any principal, in the state that they are in now. */
  async stored(range: SessionRange): Promise<SessionRecord[]> {
    await this.flush();
    const records = await this.#hub.harness.store.query(sessionTables, "list", range);
    for (const record of records) this.#stored.add(record);
    return records;
  }

  /** A session of a tenant, without a check of who may see it. */
  async read(id: string, tenant: string): Promise<SessionRecord | undefined> {
    const served = this.#served.get(id)?.record;
    if (served) return served;
    const record = await this.#hub.harness.store.query(sessionTables, "get", { id, tenant });
    if (record) this.#stored.add(record);
    return record;
  }

  /** The newest session of a key, also one that has ended. */
  async ofKey(key: string, tenant: string): Promise<SessionRecord | undefined> {
    const record = await this.#hub.harness.store.query(sessionTables, "byKey", { key, tenant });
    return record && this.read(record.id, tenant);
  }

  /** A session, if the principal may see it. */
  async find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    const record = await this.read(id, principal.tenant);
    return record && maySee(principal, record) ? record : undefined;
  }

  /** A session that the principal may see and that has not ended. */
  async expect(principal: Principal, id: unknown): Promise<SessionRecord> {
    const record = await this.see(principal, id);
    if (!record.ended) return record;
    throw noSession(id);
  }

  /** A session that a principal may see, also one that has ended. */
  async see(principal: Principal, id: unknown): Promise<SessionRecord> {
    const record = typeof id === "string" ? await this.find(principal, id) : undefined;
    if (record) return record;
    throw noSession(id);
  }

  /** Calls a watcher for every session that is new or changed, until the returned function is called. */
  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Notifies the watchers of a session that is new or changed. */
  notify(record: SessionRecord): void {
    for (const watcher of this.#watchers) watcher(record);
  }

  /** Writes a record; with an entry, both in one commit. A relaxed write waits a little for another to be made with. */
  put(record: SessionRecord, how: SessionWrite = {}): Promise<void> {
    const { id } = record;
    const { entry } = how;
    this.#later.delete(id);
    if (!entry && this.isStored(record)) return Promise.resolve();
    const before = this.#entering.get(id);
    const write = () => this.#write(record, how);
    const writing = before ? before.then(write) : write();
    if (!entry && !before) return writing;
    const written = writing.catch(() => undefined);
    this.#entering.set(id, written);
    void written.then(() => {
      if (this.#entering.get(id) === written) this.#entering.delete(id);
    });
    return writing;
  }

  /** Writes the record that a session has a moment from now, unless it is written earlier. */
  putLater(session: Pick<Session, "record">): void {
    const { clock, onError } = this.#hub;
    this.#later.set(session.record.id, session);
    this.#cancelFlush ??= clock.after(LATER_MS, () => {
      this.#cancelFlush = undefined;
      this.flush().catch(onError);
    });
  }

  /** Whether a read of the store finds a record. */
  isStored(record: SessionRecord): boolean {
    return this.#stored.has(record);
  }

  /** Writes what was to be written later. */
  async flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    await Promise.all([...this.#later.values()].map(({ record }) => this.put(record)));
  }

  async close(): Promise<void> {
    this.#unregister();
    await this.flush();
  }

  #add(record: SessionRecord, phase?: SessionPhase): Session {
    const session = new Session(this.#hub, record, phase);
    this.#served.set(record.id, session);
    return session;
  }

  async #write(record: SessionRecord, how: SessionWrite): Promise<void> {
    await putSession(this.#hub.harness, record, how);
    this.#stored.add(record);
  }
}

/** How a record is written. */
interface SessionWrite {
  /** Written in the same commit. */
  readonly entry?: Draft;
  /** Whether it may wait for another commit to be made with. */
  readonly relaxed?: boolean;
}

/** Writes the record of a session that no hub serves. */
export async function putSession(
  harness: Pick<Harness, "store" | "record">,
  record: SessionRecord,
  { entry, relaxed = false }: SessionWrite = {},
): Promise<void> {
  const put = change(sessionTables, "put", record);
  if (entry) await harness.record([entry], { with: [put], durable: false });
  else await harness.store.commit([put], { durable: false, relaxed });
}

/**
 * Seals MCP servers of sessions anew that were sealed with a former key, then forgets that key. To be called before a
 * session is served: it writes records that no session owns yet.
 */
export async function renewSessionSeals({
  store,
  vault,
  onError,
}: {
  readonly store: Pick<Store, "query" | "commit" | "scrub">;
  readonly vault: Vault;
  readonly onError: (error: unknown) => void;
}): Promise<void> {
  const keys = vault.formerKeys;
  if (keys.length === 0) return;
  for (let after = ""; ; ) {
    const page = await store.query(sessionTables, "sealedWithKeys", { keys, after, limit: PAGE });
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
    await store.commit(page.map((record) => change(sessionTables, "put", renewServers(vault, record))));
  }
  if (await scrubbed(store, onError)) await vault.forgetFormer();
}

function maySee(principal: Principal, { tenant, principal: owner }: SessionRecord): boolean {
  return tenant === principal.tenant && (owner === principal.id || isAdmin(principal));
}

/** How old a measure of what a tenant stores may be. */
const MEASURE_MS = 60_000;
const MOST_TENANTS = 1_000;

type Measured = Pick<HubContext, "harness" | "log" | "clock">;

/** Holds the sessions and prompts of principals and tenants to their quotas, whichever protocol they come by. */
export class SessionQuotas {
  readonly #hub: Measured;
  readonly #stored = new LruCache<string, { readonly at: number; readonly bytes: Promise<number> }>({
    entries: MOST_TENANTS,
  });

  constructor(hub: Measured) {
    this.#hub = hub;
  }

  /** Runs a request, if it is within the quotas of its principal. */
  async run(principal: Principal, method: string, handle: () => Promise<unknown>): Promise<unknown> {
    // A prompt of the operator starts in the order of its arrival.
    if (method === "session/prompt" && this.#hub.harness.quotas.bounds("prompts", principal))
      await this.#checked(() => this.#prompt(principal));
    if (method !== "session/new" && method !== "session/fork") return handle();
    const release = await this.#checked(() => this.#session(principal));
    try {
      return await handle();
    } finally {
      release();
    }
  }

  async #prompt(principal: Principal): Promise<void> {
    this.#hub.harness.quotas.take("prompts", principal);
    await this.#storage(principal);
  }

  /** Counts a session that is being started, until it is stored. */
  async #session(principal: Principal): Promise<() => void> {
    const { quotas, store } = this.#hub.harness;
    if (!quotas.bounds("sessions", principal)) return () => {};
    await this.#storage(principal);
    const { tenant, id } = principal;
    return quotas.hold(
      "sessions",
      principal,
      await store.query(sessionTables, "countOpen", { tenant, principal: id }),
    );
  }

  async #storage(principal: Principal): Promise<void> {
    const { quotas } = this.#hub.harness;
    if (!quotas.bounds("stored_bytes", principal)) return;
    quotas.require("stored_bytes", principal, {
      principal: 0,
      tenant: await this.#storedBy(principal.tenant),
    });
  }

  #storedBy(tenant: string): Promise<number> {
    const now = this.#hub.clock.now().getTime();
    const known = this.#stored.get(tenant);
    if (known && Math.abs(now - known.at) < MEASURE_MS) return known.bytes;
    const bytes = this.#hub.log.stored(tenant);
    this.#stored.set(tenant, { at: now, bytes });
    bytes.catch(() => this.#stored.delete(tenant));
    return bytes;
  }

  async #checked<Result>(check: () => Promise<Result>): Promise<Result> {
    try {
      return await check();
    } catch (error) {
      throw quotaRpcError(error);
    }
  }
}

/** Maps a quota that has no more to an error of JSON-RPC. */
export function quotaRpcError(error: unknown): unknown {
  if (!(error instanceof QuotaError)) return error;
  const { message, quota, retryAfterMs } = error;
  return new RpcError(
    CODE.quotaExceeded,
    message,
    { quota, retry_after_ms: Math.ceil(retryAfterMs) },
    { cause: error },
  );
}

/** The MCP servers of a session as they are stored: sealed, because their variables, headers and arguments hold secrets. */
export function sealServers(vault: Vault, id: string, servers: readonly unknown[]): string | undefined {
  return servers.length === 0 ? undefined : vault.seal(placeOf(id), JSON.stringify(servers));
}

/** The MCP servers that a session was started with, exactly. A session whose servers cannot be opened is not resumed without them. */
export function openServers(
  vault: Vault,
  { id, sealed_servers }: Pick<SessionRecord, "id" | "sealed_servers">,
): readonly unknown[] {
  if (sealed_servers === undefined) return [];
  try {
    return parseStored(vault.open(placeOf(id), sealed_servers));
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    throw new RpcError(
      CODE.internal,
      `the MCP servers of this session cannot be opened, so it is not resumed without them; name them anew, or start a new session (${error.message})`,
      undefined,
      { cause: error },
    );
  }
}

/** A session whose MCP servers are sealed with the newest key; what cannot be opened stays as it is. */
export function renewServers(vault: Vault, record: SessionRecord): SessionRecord {
  const { id, sealed_servers } = record;
  if (sealed_servers === undefined) return record;
  return { ...record, sealed_servers: vault.renew(placeOf(id), sealed_servers) ?? sealed_servers };
}

function placeOf(id: string): string {
  return `sessions/${id}`;
}
