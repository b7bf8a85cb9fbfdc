import { randomBytes } from "node:crypto";
import type { JsonObject } from "@reins/acp";
import type { Hosting } from "@reins/host";
import type { Clock } from "@reins/kit";
import { change, type Store } from "@reins/store";
import { type Harness, isAdmin, type Principal } from "@reins/supervisor";
import { required } from "../access/authenticator.ts";
import type { Log } from "../limits.ts";
import { agentProblem, HttpProblem } from "../problems.ts";
import { type AgentTimeouts, DurableConnection } from "./durable-connection.ts";
import { type AcpEndpoint, type ConnectionRecord, connectionTables } from "./tables.ts";

/** Number and lifetime of connections, and the timeouts of their agents. */
export interface ConnectionLimits extends AgentTimeouts {
  /** How long an unused connection can be resumed. */
  readonly expiryMs: number;
  /** How long an unused connection stays in memory. */
  readonly restMs: number;
  /** The most connections per principal. */
  readonly perPrincipal: number;
}

export interface ConnectionsOptions {
  readonly hosting: Hosting;
  readonly store: Pick<Store, "commit" | "query">;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** 192 bits. */
const ID_BYTES = 24;
const SWEEP_MS = 60_000;

/** The connections of ACP clients over HTTP, each bound to its principal. */
export class Connections {
  readonly hosting: Hosting;
  readonly #options: ConnectionsOptions;
  /** Connections in memory, or being loaded from the store. */
  readonly #live = new Map<string, DurableConnection | Promise<DurableConnection>>();
  /** Connections being removed; `find` ignores them. */
  readonly #ending = new Set<string>();
  #cancelSweep: () => void = () => undefined;
  #isReleased = false;
  readonly #unlisten: () => void;

  constructor(options: ConnectionsOptions) {
    this.hosting = options.hosting;
    this.#options = options;
    this.#sweepLater();
    const released = (tenant: string) => this.#unload(({ record }) => record.tenant === tenant);
    this.#unlisten = options.hosting.hub.tenants.listen({ released });
  }

  /** Opens a connection and initializes its agent. Removes the connection if that fails. */
  async initialize(
    dialect: AcpEndpoint,
    principal: Principal,
    params: JsonObject,
    agent?: string,
  ): Promise<{ readonly id: string; readonly result: unknown }> {
    const kept = await this.open(dialect, principal, agent);
    const { id } = kept.connection;
    try {
      return { id, result: await kept.initialize(params) };
    } catch (error) {
      await this.close(dialect, id, principal);
      throw agentProblem(error);
    }
  }

  /** Rejects an agent that the catalogue does not have. */
  requireAgent(agent: string): void {
    try {
      this.hosting.catalogue.entry(agent);
    } catch (error) {
      throw agentProblem(error);
    }
  }

  /** Opens a connection for a principal. */
  async open(
    dialect: AcpEndpoint,
    principal: Principal,
    agent?: string,
    chosen?: { readonly id: string; readonly server: string },
  ): Promise<DurableConnection> {
    const { hosting, store, clock, limits } = this.#options;
    const { tenant, id: holder } = principal;
    const held = await store.query(connectionTables, "count", { tenant, principal: holder });
    if (held >= limits.perPrincipal)
      throw new HttpProblem("unavailable", `${held} connections are open already; end some of them`);
    const { epoch, order } = await hosting.hub.log.end(tenant);
    const now = clock.now().toISOString();
    const record: ConnectionRecord = {
      id: randomBytes(ID_BYTES).toString("base64url"),
      ...chosen,
      dialect,
      tenant,
      principal: holder,
      agent,
      start: order,
      epoch,
      sessions: {},
      quiet: order,
      created_at: now,
      last_seen: now,
    };
    await store.commit([change(connectionTables, "put", record)], { durable: false });
    return this.#take(record, principal);
  }

  /** Finds a connection by id; it must belong to the principal. */
  async find(dialect: AcpEndpoint, id: string, principal: Principal): Promise<DurableConnection> {
    const live = this.#live.get(id);
    const record = live instanceof DurableConnection ? this.#unexpired(live) : await this.#recordOf(id);
    if (record?.tenant !== principal.tenant || record.dialect !== dialect) throw unknown();
    if (record.principal !== principal.id)
      throw new HttpProblem("forbidden", "the connection belongs to another principal; open your own");
    const kept = live instanceof DurableConnection ? live : await this.#take(record, principal);
    kept.seen(principal);
    return kept;
  }

  /** Whether there is a connection of an id. */
  async has(id: string): Promise<boolean> {
    return (await this.#recordOf(id)) !== undefined;
  }

  /** Removes a connection; returns whether it existed. */
  async close(dialect: AcpEndpoint, id: string, principal: Principal): Promise<boolean> {
    const record = await this.#recordOf(id);
    if (record?.tenant !== principal.tenant || record.dialect !== dialect) return false;
    if (record.principal !== principal.id)
      throw new HttpProblem("forbidden", "the connection belongs to another principal");
    await this.#end(id);
    return true;
  }

  /** Removes a connection of the principal, or for an admin any of the tenant. */
  async remove(id: string, principal: Principal): Promise<void> {
    const record = await this.#recordOf(id);
    const isOwn = record?.principal === principal.id || isAdmin(principal);
    if (record?.tenant !== principal.tenant || !isOwn)
      throw new HttpProblem("not_found", `there is no connection ${id}`);
    await this.#end(id);
  }

  /** Lists the connections that a principal may see, the newest first, with their number of open streams. */
  async list(
    principal: Principal,
    range: { readonly limit: number; readonly after?: string | undefined },
  ): Promise<readonly { readonly record: ConnectionRecord; readonly streams: number }[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const records = await this.#options.store.query(connectionTables, "list", { ...range, ...own, tenant });
    return Promise.all(
      records.map(async (record) => {
        const live = await opened(this.#live.get(record.id));
        return { record: live?.record ?? record, streams: live?.streams ?? 0 };
      }),
    );
  }

  /** When a connection expires unless it is used. */
  expiryOf({ last_seen }: ConnectionRecord): Date {
    return new Date(Date.parse(last_seen) + this.#options.limits.expiryMs);
  }

  /** Removes expired connections and unloads idle ones. */
  async sweep(): Promise<void> {
    const { store, clock, limits } = this.#options;
    const now = clock.now().getTime();
    for (const [id, opening] of this.#live) {
      const kept = await opened(opening);
      if (!kept?.isIdle || now - kept.used < limits.restMs) continue;
      this.#live.delete(id);
      kept.close();
    }
    const before = new Date(now - limits.expiryMs).toISOString();
    await store.commit([change(connectionTables, "expire", { before })], { durable: false });
  }

  /** Unloads all connections; they stay in the store. */
  async release(): Promise<void> {
    this.#isReleased = true;
    this.#cancelSweep();
    this.#unlisten();
    await this.#unload(() => true);
  }

  async #unload(which: (kept: DurableConnection) => boolean): Promise<void> {
    for (const [id, opening] of [...this.#live]) {
      const kept = await opened(opening);
      if (kept && !which(kept)) continue;
      this.#live.delete(id);
      kept?.close();
    }
  }

  async #recordOf(id: string): Promise<ConnectionRecord | undefined> {
    if (this.#ending.has(id)) return undefined;
    const live = await this.#live.get(id);
    if (live) return this.#unexpired(live);
    const record = await this.#options.store.query(connectionTables, "get", { id });
    return record && this.#unexpired({ record, streams: 0 });
  }

  /** The record of a connection that has an open stream or has not expired. */
  #unexpired({
    record,
    streams,
  }: Pick<DurableConnection, "record" | "streams">): ConnectionRecord | undefined {
    return streams > 0 || this.expiryOf(record) > this.#options.clock.now() ? record : undefined;
  }

  /** Returns a connection from memory, or loads it once. */
  async #take(record: ConnectionRecord, principal: Principal): Promise<DurableConnection> {
    const { id } = record;
    const known = this.#live.get(id);
    if (known) return await known;
    const { hosting, store, clock, limits: timeouts, onError } = this.#options;
    const parts = { hub: hosting.hub, store, clock, timeouts, onError };
    const opening = DurableConnection.open(parts, record, principal);
    this.#live.set(id, opening);
    opening.then(
      (kept) => {
        if (this.#live.get(id) === opening) this.#live.set(id, kept);
      },
      () => this.#live.delete(id),
    );
    return await opening;
  }

  /** Closes a connection before removing it, so that a late write cannot restore it. */
  async #end(id: string): Promise<void> {
    this.#ending.add(id);
    try {
      (await opened(this.#live.get(id)))?.close(false);
      this.#live.delete(id);
      await this.#options.store.commit([change(connectionTables, "remove", { id })], { durable: false });
    } finally {
      this.#ending.delete(id);
    }
  }

  #sweepLater(): void {
    if (this.#isReleased) return;
    this.#cancelSweep = this.#options.clock.after(SWEEP_MS, () => {
      this.sweep()
        .catch(this.#options.onError)
        .finally(() => this.#sweepLater());
    });
  }
}

/** The connection once it is loaded; undefined if loading failed. */
function opened(
  opening: DurableConnection | Promise<DurableConnection> | undefined,
): Promise<DurableConnection | undefined> {
  return Promise.resolve(opening).catch(() => undefined);
}

function unknown(): HttpProblem {
  return new HttpProblem(
    "not_found",
    "the connection is not known, was ended or has expired; initialize again",
  );
}

export interface CurrentConnectionsOptions {
  /** Waits until agents can run; rejects with a reason for users. */
  readonly hosting: () => Promise<Hosting>;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  readonly log: Log;
}

/** Holds the connections of the current hosting, and replaces them after it was reopened, such as after a full disk. */
export class CurrentConnections {
  readonly #options: CurrentConnectionsOptions;
  #current: { readonly hosting: Hosting; readonly connections: Promise<Connections> } | undefined;

  constructor(options: CurrentConnectionsOptions) {
    this.#options = options;
  }

  /** The connections of the current hosting. */
  async open({ store }: Harness): Promise<Connections> {
    const { clock, limits, log } = this.#options;
    const hosting = await required(this.#options.hosting);
    if (this.#current?.hosting === hosting) return await this.#current.connections;
    const onError = (error: unknown) => log.warn({ err: error }, "a background task of a connection failed");
    const connections = this.close().then(() => new Connections({ hosting, store, clock, limits, onError }));
    this.#current = { hosting, connections };
    return await connections;
  }

  /** Unloads the connections; they stay in the store. */
  async close(): Promise<void> {
    const { connections } = this.#current ?? {};
    this.#current = undefined;
    const loaded = await connections?.catch(() => undefined);
    await loaded?.release();
  }
}
