import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, membersOf, metaOf, RpcError } from "@reins/acp";
import { isHostNotification } from "@reins/bridge";
import { type Clock, systemClock } from "@reins/kit";
import { type Harness, LOCAL, type Principal } from "@reins/supervisor";
import type { FileService } from "../files/file-service.ts";
import { nameOfHomes } from "../hosting/agent-homes.ts";
import type { AgentHost, HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Cursor } from "../log/logged-event.ts";
import type { FolderServers } from "../mcp/folder-servers.ts";
import { type Ending, isElsewhere, Session } from "../sessions/session.ts";
import type { SessionClients } from "../sessions/session-clients.ts";
import type { SessionMode, SessionRecord } from "../sessions/session-record.ts";
import { SessionQuotas, Sessions, type SessionWatcher } from "../sessions/sessions.ts";
import type { SessionRange } from "../sessions/tables.ts";
import { isOurName, type WireTap } from "../wire/agent-channel.ts";
import { AgentPool } from "./agent-pool.ts";
import { HISTORY, historyOf, join, loadOrResume, replay } from "./attach.ts";
import { ClientMessages } from "./client-messages.ts";
import { Connection } from "./connection.ts";
import type { ConnectionOptions, HubContext, IdleScheduler, SessionCall } from "./context.ts";
import { type AgentMethods, extend, isExtension, listingOf, withCapabilities } from "./extensions.ts";
import type { Outlet } from "./feed.ts";
import { closeSession, deleteSession, forwardOutside, forwardToAgent } from "./forward.ts";
import { Reaper, type ReaperOptions, restartAgent } from "./reaper.ts";
import { recover } from "./recovery.ts";
import { agentIn, forkSession, startSession, subscribesToTurns } from "./start-session.ts";
import { Tenants } from "./tenants.ts";
import { Turns } from "./turns.ts";

export interface HubOptions extends ReaperOptions {
  readonly harness: Harness;
  readonly host: Pick<AgentHost, "start"> &
    Partial<Pick<AgentHost, "networkFor" | "separates" | "isBuiltIn" | "isMetered">>;
  readonly log: EventLog;
  readonly clock?: Clock;
  /** The files of clients, where they are served. */
  readonly files?: FileService | undefined;
  /** The MCP servers that users stored for folders. */
  readonly folderServers?: Pick<FolderServers, "serversFor"> | undefined;
  /** Wakes sessions between prompts. */
  readonly idleScheduler?: ((hub: Hub) => IdleScheduler) | undefined;
  /** Sees every message between clients and sessions. */
  readonly tap?: WireTap | undefined;
  /** Receives errors of background work. */
  readonly onError?: (error: unknown) => void;
}

export interface ConnectOptions extends Omit<ConnectionOptions, "id"> {
  readonly id?: string | undefined;
  /** Where its messages go; without one, it opens feeds itself. */
  readonly outlet?: Outlet | undefined;
  /** Of a client that reconnects: the position that it has seen. */
  readonly from?: Cursor | undefined;
}

/** Requests everything that was said in a session, and starts no agent. */
const REPLAY = "_reins/session/replay";
/** The methods that need a sessionId. */
const OF_SESSIONS: ReadonlySet<string> = new Set([
  ...["load", "resume", "fork", "prompt", "close", "delete"].map((name) => `session/${name}`),
  ...["set_mode", "set_model", "set_config_option"].map((name) => `session/${name}`),
  REPLAY,
  HISTORY,
]);
/** How long a client that is gone may take to reconnect before a question is not left to it any more. */
const GONE_MS = 10_000;
/** The most characters that the capabilities of a client may have. */
const MAX_CAPABILITIES = 64 * 1024;
const TERMINATED: Ending = { reason: "terminated", terminated_by: "daemon" };

/** Connects clients to sessions: any number of clients to any session that they may see. */
export class Hub implements HubContext {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly pool: AgentPool;
  readonly turns: Turns;
  readonly tenants: Tenants;
  readonly idleScheduler: IdleScheduler | undefined;
  /** The files of clients, where they are served. */
  readonly files: FileService | undefined;
  readonly folderServers: Pick<FolderServers, "serversFor"> | undefined;
  /** Lists and installs agents; set by the admin API. */
  agents: AgentMethods | undefined;
  /** Sees every message between clients and sessions. */
  readonly tap: WireTap | undefined;
  readonly onError: (error: unknown) => void;
  homes: string | undefined;
  readonly #messages = new ClientMessages(this);
  readonly #quotas = new SessionQuotas(this);
  readonly #reaper: Reaper;
  readonly #connections = new Map<string, Connection>();
  /** Cancels the timers of connections that are gone and may reconnect. */
  readonly #reconnecting = new Set<() => void>();
  #arrivals = 0;
  #closed = false;

  private constructor(options: HubOptions) {
    this.harness = options.harness;
    this.log = options.log;
    this.clock = options.clock ?? systemClock;
    this.tap = options.tap;
    this.files = options.files;
    this.folderServers = options.folderServers;
    this.onError = options.onError ?? (() => undefined);
    this.sessions = new Sessions(this);
    this.pool = new AgentPool({
      host: options.host,
      // Nothing finds what happens outside of every session but an approval's answer.
      clients: (record) => new Session(this, record).clients,
      onGone: (agent, { message }) => void restartAgent(this, agent, message).catch(this.onError),
      clock: this.clock,
      requireRoom: (principal, running) => options.harness.quotas.require("agents", principal, running),
    });
    this.turns = new Turns(this);
    this.tenants = new Tenants(this);
    this.idleScheduler = options.idleScheduler?.(this);
    this.#reaper = new Reaper(this, options);
  }

  /** Opens a hub, and marks turns that an earlier process left running as interrupted; a node does so by the tenant. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    if (options.harness.store.node) hub.homes = await nameOfHomes(options.harness);
    else await recover(hub);
    hub.#reaper.start();
    return hub;
  }

  /** Connects a client. */
  async connect({ outlet, id = randomUUID(), from, ...options }: ConnectOptions): Promise<Connection> {
    const start = from ?? (await this.log.end(options.principal.tenant));
    const connection = new Connection(this, { ...options, id });
    this.#connections.set(id, connection);
    if (outlet) connection.open(outlet, start);
    return connection;
  }

  /** Ends a connection. Its sessions continue. What waits for its client fails, after a while if that may reconnect. */
  disconnect(connection: Connection, { mayReturn = true } = {}): void {
    const { id, sessions } = connection;
    if (this.#connections.get(id) === connection) this.#connections.delete(id);
    connection.close();
    if (this.#closed || !sessions.some((session) => this.live(session)?.clients.questions.length)) return;
    const left = () => {
      if (!this.#connections.has(id)) for (const session of sessions) this.live(session)?.clients.left(id);
    };
    for (const session of sessions) this.live(session)?.clients.ended(id);
    if (!mayReturn) left();
    else {
      const cancel = this.clock.after(GONE_MS, () => {
        this.#reconnecting.delete(cancel);
        left();
      });
      this.#reconnecting.add(cancel);
    }
  }

  arrive(): number {
    this.#arrivals += 1;
    return this.#arrivals;
  }

  present(session: string): readonly Connection[] {
    const prompting = this.live(session)?.prompting;
    return [...this.#connections.values()].filter((one) => one.canBeAsked(session, prompting));
  }

  isConnected(connection: string): boolean {
    return this.#connections.has(connection);
  }

  /** A session that is served here. */
  live(id: string): Session | undefined {
    return this.sessions.get(id);
  }

  /** The session that asks a question that is open. */
  asking(key: string): SessionClients | undefined {
    return this.sessions.asking.get(key);
  }

  /** The sessions that a principal may see, the most recently used first. */
  list(principal: Principal, range?: Partial<SessionRange>): Promise<SessionRecord[]> {
    return this.sessions.list(principal, range);
  }

  /** A session, if the principal may see it. */
  find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    return this.sessions.find(principal, id);
  }

  /** Calls a watcher for every session that is new or changed, until the returned function is called. */
  watch(watcher: SessionWatcher): () => void {
    return this.sessions.watch(watcher);
  }

  /** Handles a request of a client. What cancels pending requests cancels it if it arrived before. */
  request(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    arrival = this.arrive(),
  ): Promise<unknown> {
    const { principal } = connection;
    const handle = () => this.#request(connection, method, params, signal, arrival);
    // The operator has no quota.
    return principal.id === LOCAL ? handle() : this.#quotas.run(principal, method, handle);
  }

  async #request(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    arrival: number,
  ): Promise<unknown> {
    const call = { method, params, signal };
    const { principal } = connection;
    const { sessionId } = params;
    if (!OF_SESSIONS.has(method)) {
      if (method === "initialize") return this.#initialize(connection, params);
      if (method === "session/new") return startSession(this, connection, call);
      if (method === "session/list") return listingOf(this, principal, params);
      if (isExtension(method)) return extend(this, connection, method, params, signal);
      if (isOurName(method)) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
      if (sessionId === undefined) return forwardOutside(this, connection, call);
    } else if (sessionId === undefined) throw new RpcError(CODE.invalidParams, `${method} needs a sessionId`);
    if (method === REPLAY) return replay(this, connection, sessionId);
    if (method === HISTORY) return historyOf(this.log, await this.sessions.see(principal, sessionId), params);
    const session =
      this.sessions.open(principal, sessionId) ??
      this.sessions.serve(await this.sessions.expect(principal, sessionId));
    if (isElsewhere(session.record)) return this.#elsewhere(connection, session, call);
    if (method === "session/load" || method === "session/resume")
      return loadOrResume(connection, session, call);
    if (method === "session/fork") return forkSession(connection, session, call);
    if (!connection.following.has(session.id)) await join(connection, session);
    if (method === "session/prompt")
      return this.turns.prompt(session, { connection, params, signal, arrival });
    if (method === "session/close") return closeSession(connection, session, call);
    if (method === "session/delete") return deleteSession(connection, session, call);
    return forwardToAgent(connection, session, call);
  }

  /** Shows a session of an agent that runs elsewhere, or ends it here: then every step of it is blocked. */
  async #elsewhere(connection: Connection, session: Session, { method }: SessionCall): Promise<unknown> {
    if (method === "session/load" || method === "session/resume") return replay(this, connection, session.id);
    if (method !== "session/close" && method !== "session/delete")
      throw new RpcError(CODE.invalidParams, "the agent of this session runs in a terminal: prompt it there");
    await session.closeAndEnd(TERMINATED);
    return {};
  }

  /** Handles a notification of a client. It never waits for a turn. */
  async notification(connection: Connection, method: string, params: JsonObject): Promise<void> {
    if (isExtension(method)) {
      await extend(this, connection, method, params);
      return;
    }
    // Hosts that know one session alone do not name it.
    const [sole, ...others] = isHostNotification(method) ? connection.sessions : [];
    const { sessionId = others.length === 0 ? sole : undefined } = params;
    if (sessionId === undefined || isOurName(method)) return;
    if (method === "cancel") return this.notification(connection, "session/cancel", { sessionId });
    const record = await this.sessions.expect(connection.principal, sessionId);
    if (this.idleScheduler?.takes(record, method, params)) return;
    if (this.#messages.takes(connection.principal, record, method, params)) return;
    const { starting, agent } = this.live(record.id) ?? {};
    if (starting && method === "session/cancel") starting.abort(new Error("the turn was cancelled"));
    else await agent?.governor.notification(method, { ...params, sessionId });
  }

  /** Sends the followers of a session a message that is not logged. */
  sendUnlogged(session: string, message: JsonObject): void {
    for (const connection of this.#connections.values()) connection.sendUnlogged(session, message);
  }

  /** Ends a session for good; returns whether it was open. */
  async terminate(principal: Principal, id: string, how = TERMINATED): Promise<boolean> {
    const record = await this.find(principal, id);
    if (!record || record.ended) return false;
    await this.sessions.serve(record).closeAndEnd(how);
    return true;
  }

  /** Reopens a session that has ended, as it was or in another mode. */
  async reopen(principal: Principal, id: string, mode?: SessionMode): Promise<SessionRecord | undefined> {
    const record = await this.find(principal, id);
    if (!record?.ended) return record;
    const session = this.sessions.serve(record);
    await session.apply({ type: "reopened", mode });
    return session.record;
  }

  /** Changes the metadata of a session, and its title if that is named. */
  async annotate(record: SessionRecord, metadata: Readonly<JsonObject>): Promise<void> {
    const session = this.sessions.serve(record);
    const shown = membersOf(this.harness.redact(metadata));
    const { title } = shown;
    const merged = { ...session.record.metadata, ...shown };
    const changes = { metadata: merged, ...(typeof title === "string" && { title }) };
    await session.apply({ type: "annotated", changes });
  }

  /** The modes, models and config options of a session; empty before its agent lists them. */
  settingsOf(id: string): JsonObject {
    return this.sessions.get(id)?.settings ?? {};
  }

  /** The settings of the newest session of an agent that a principal may see and that has any. */
  async settingsOfAgent(principal: Principal, agent: string): Promise<JsonObject> {
    for (const { id } of await this.list(principal, { agent, open: true })) {
      const settings = this.settingsOf(id);
      if (Object.keys(settings).length > 0) return settings;
    }
    return {};
  }

  /** How many messages are logged for each of some sessions of a tenant. */
  async countsOf(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    await this.log.written();
    return this.log.counts(tenant, ids);
  }

  /** The agents that run. */
  async running(): Promise<readonly HostedAgent[]> {
    return this.pool.running;
  }

  /** Stops an agent. Its sessions are parked, and the next prompt of each starts a new one. */
  restart(agent: HostedAgent, reason: string): Promise<void> {
    return restartAgent(this, agent, reason);
  }

  /** Stops idle agents, unloads sessions that are not busy, and prunes what is older than the retention time. */
  reap(): Promise<void> {
    return this.#reaper.reap();
  }

  /**
   * Starts no turn any more. Running turns have a grace period and are cut off then, as if the process had ended. To be
   * called while clients can still be answered.
   */
  interrupt(graceMs = 0): Promise<void> {
    return this.turns.interrupt(graceMs);
  }

  /** Stops agents and connections. Sessions stay stored. */
  async close(): Promise<void> {
    const { pool, onError } = this;
    await this.interrupt();
    this.#closed = true;
    for (const cancel of this.#reconnecting) cancel();
    this.#reaper.stop();
    this.idleScheduler?.close();
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
    const sessions = this.sessions.all.filter(({ agent }) => agent !== undefined);
    await pool.close("Reins is stopping").catch(onError);
    // Turns whose agent is gone still record how they ended.
    await Promise.all(sessions.map(({ queue }) => queue.settled));
    await this.sessions.close().catch(onError);
    await this.log.close().catch(onError);
  }

  async #initialize(connection: Connection, params: JsonObject): Promise<JsonObject> {
    connection.agent = agentIn(params) ?? connection.agent;
    connection.followsTurns ||= subscribesToTurns(params);
    const capabilities = membersOf(params.clientCapabilities);
    // Extensions are named beside the capabilities too.
    const _meta = { ...metaOf(params), ...metaOf(capabilities) };
    if (JSON.stringify({ capabilities, _meta }).length > MAX_CAPABILITIES)
      throw new RpcError(
        CODE.invalidParams,
        `a client says what it can do in ${MAX_CAPABILITIES} characters`,
      );
    connection.capabilities = { ...capabilities, _meta };
    if (connection.agent === undefined)
      throw new RpcError(CODE.invalidParams, "initialize has to name an agent");
    const agent = await this.pool.acquire(connection.agent, connection.principal);
    return withCapabilities(agent.initialized, { managesAgents: this.agents !== undefined });
  }
}
