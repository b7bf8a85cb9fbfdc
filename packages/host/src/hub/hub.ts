import { randomUUID } from "node:crypto";
import { change } from "@reins/store";
import { type Harness, isAdmin, type Principal } from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { AgentHost, HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Cursor } from "../log/logged-event.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { type SessionRange, sessionTables } from "../sessions/tables.ts";
import { AgentPool } from "./agent-pool.ts";
import { Connection, type Outlet } from "./connection.ts";
import { recordInterruption } from "./interruption.ts";
import { LiveSession } from "./live-session.ts";
import { SessionClients } from "./session-clients.ts";
import { transcriptOf } from "./transcript.ts";

/** What a hub stands on. */
export interface HubOptions {
  readonly harness: Harness;
  readonly host: Pick<AgentHost, "start">;
  readonly log: EventLog;
  /** Takes secrets out of what is kept or shown. */
  readonly redact: (value: unknown) => unknown;
  readonly now?: () => Date;
  readonly newId?: () => string;
  /** Told what went wrong in the background. */
  readonly onError?: (error: unknown) => void;
}

/** How a client connects. */
export interface ConnectOptions {
  readonly principal: Principal;
  readonly agent?: string | undefined;
  readonly outlet: Outlet;
  readonly id?: string | undefined;
  /** For one that comes back: up to where it has seen the log. */
  readonly from?: Cursor | undefined;
}

const UPDATE = "session/update";

/** Where clients and sessions meet: any number of clients at any session they may see, and agents that outlive none of it. */
export class Hub {
  readonly log: EventLog;
  readonly #harness: Harness;
  readonly #pool: AgentPool;
  readonly #now: () => Date;
  readonly #newId: () => string;
  readonly #onError: (error: unknown) => void;
  readonly #redact: (value: unknown) => unknown;
  readonly #sessions = new Map<string, LiveSession>();
  readonly #connections = new Map<string, Connection>();
  /** Connections that began sessions which are not known yet. */
  readonly #beginning = new Map<string, Connection>();

  private constructor(options: HubOptions) {
    this.log = options.log;
    this.#harness = options.harness;
    this.#now = options.now ?? (() => new Date());
    this.#newId = options.newId ?? randomUUID;
    this.#onError = options.onError ?? (() => undefined);
    this.#redact = options.redact;
    this.#pool = new AgentPool({
      host: options.host,
      clients: (session) => this.#admit(session).clients,
      onGone: (agent, reason) => this.#gone(agent, reason),
    });
  }

  /** Opens a hub. What an earlier run left in the middle of a turn is marked as interrupted. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    await hub.#recover();
    return hub;
  }

  /** Connects a client. */
  async connect({ principal, agent, outlet, id = this.#newId(), from }: ConnectOptions): Promise<Connection> {
    const start = from ?? (await this.log.end(principal.tenant));
    const connection = new Connection(this, { id, principal, agent, outlet, from: start });
    this.#connections.set(id, connection);
    return connection;
  }

  /** Ends a connection. Its sessions go on. */
  disconnect(connection: Connection): void {
    connection.close();
    if (this.#connections.get(connection.id) === connection) this.#connections.delete(connection.id);
  }

  /** A session that is served here. */
  live(id: string): LiveSession | undefined {
    return this.#sessions.get(id);
  }

  /** The sessions that a principal may see. */
  async list(principal: Principal, range: Partial<SessionRange> = {}): Promise<SessionRecord[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const kept = await this.#harness.store.query(sessionTables, "list", {
      limit: 100,
      ...range,
      ...own,
      tenant,
    });
    return kept.map((record) => this.#sessions.get(record.id)?.record ?? record);
  }

  /** A session, if the principal may see it. */
  async find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    const { tenant } = principal;
    const record =
      this.#sessions.get(id)?.record ??
      (await this.#harness.store.query(sessionTables, "get", { id, tenant }));
    if (record?.tenant !== tenant) return undefined;
    return isAdmin(principal) || record.principal === principal.id ? record : undefined;
  }

  /** Answers a client. */
  async request(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (method === "initialize") return this.#initialize(connection, params);
    if (method === "session/new") return this.#new(connection, params, signal);
    if (method === "session/list") return this.#listed(connection, params);
    if (params.sessionId === undefined) return this.#outside(connection, method, params, signal);
    const record = await this.#expect(connection.principal, params.sessionId);
    if (method === "session/load" || method === "session/resume")
      return this.#takeUp(connection, record, { method, params, signal });
    if (method === "session/fork") return this.#fork(connection, record, params, signal);
    const session = await this.#opened(record);
    if (!connection.sessions.includes(session.id)) connection.attach(session);
    if (method === "session/prompt") return this.#prompt(connection, session, params, signal);
    const agent = await this.#agentOf(session, signal);
    const result = await agent.governor.request(method, params, { signal });
    if (method === "session/close" || method === "session/delete") await this.#closed(session);
    return result;
  }

  /** Takes a notification of a client. Nothing of it waits behind a turn. */
  async notification(connection: Connection, method: string, params: JsonObject): Promise<void> {
    if (params.sessionId === undefined) return;
    const record = await this.#expect(connection.principal, params.sessionId);
    await this.#sessions.get(record.id)?.agent?.governor.notification(method, params);
  }

  /** Ends a session for good; whether it was not ended before. */
  async terminate(principal: Principal, id: string): Promise<boolean> {
    const record = await this.find(principal, id);
    if (!record || record.state === "closed") return false;
    const session = await this.#opened(record);
    const { signal } = new AbortController();
    await session.agent?.governor.notification("session/cancel", { sessionId: id });
    await session.agent?.governor
      .request("session/close", { sessionId: id }, { signal })
      .catch(this.#onError);
    await this.#closed(session);
    return true;
  }

  /** The agents that run now. */
  running(): Promise<readonly HostedAgent[]> {
    return this.#pool.running();
  }

  /** Ends agents and connections. Sessions are kept. */
  async close(): Promise<void> {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
    await this.#pool.close("Reins is stopping");
    await this.log.flush().catch(this.#onError);
  }

  async #initialize(connection: Connection, params: JsonObject): Promise<JsonObject> {
    connection.agent = agentIn(params) ?? connection.agent;
    if (connection.agent === undefined)
      throw new RpcError(CODE.invalidParams, "initialize has to name an agent");
    const agent = await this.#pool.acquire(connection.agent, connection.principal);
    return agent.initialized;
  }

  async #new(connection: Connection, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    const name = agentIn(params) ?? connection.agent;
    if (name === undefined) throw new RpcError(CODE.invalidParams, "session/new has to name an agent");
    const agent = await this.#pool.acquire(name, connection.principal);
    return this.#begin(connection, agent, { method: "session/new", params, signal });
  }

  async #fork(connection: Connection, record: SessionRecord, params: JsonObject, signal: AbortSignal) {
    const agent = await this.#pool.acquire(record.agent, connection.principal);
    return this.#begin(connection, agent, { method: "session/fork", params, signal });
  }

  /** Begins a session with an agent; whoever begins it is in front of it from the first question on. */
  async #begin(
    connection: Connection,
    agent: HostedAgent,
    {
      method,
      params,
      signal,
    }: { readonly method: string; readonly params: JsonObject; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const mark = this.#newId();
    this.#beginning.set(mark, connection);
    try {
      const result = membersOf(await agent.governor.request(method, params, { signal, mark }));
      const governed = agent.governor.session(String(result.sessionId));
      if (!governed) throw new RpcError(CODE.internal, "the agent began no session");
      const session = this.#admit(governed);
      session.agent = agent;
      connection.attach(session);
      return result;
    } finally {
      this.#beginning.delete(mark);
    }
  }

  /** Takes up a session: a load tells everything that was, a resume goes on from here. */
  async #takeUp(
    connection: Connection,
    record: SessionRecord,
    {
      method,
      params,
      signal,
    }: { readonly method: string; readonly params: JsonObject; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const session = await this.#opened(record);
    const result = session.agent ? session.result : await this.#revive(session, params, signal);
    if (method === "session/load") {
      connection.detach(session.id);
      await connection.replay(session);
    } else connection.attach(session);
    return result;
  }

  async #listed({ principal }: Connection, { cwd }: JsonObject): Promise<JsonObject> {
    const records = await this.list(principal);
    const sessions = records
      .filter((record) => record.state !== "closed" && (cwd === undefined || record.cwd === cwd))
      .map(({ id, cwd: folder, title, last_activity, agent, metadata }) => ({
        sessionId: id,
        cwd: folder,
        ...(title !== undefined && { title }),
        updatedAt: last_activity,
        _meta: { reins: { agent, metadata } },
      }));
    return { sessions };
  }

  async #outside(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (connection.agent === undefined)
      throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    const agent = await this.#pool.acquire(connection.agent, connection.principal);
    return agent.governor.request(method, params, { signal });
  }

  async #prompt(connection: Connection, session: LiveSession, params: JsonObject, signal: AbortSignal) {
    const result = await session.queue.run(async () => {
      const agent = await this.#agentOf(session, signal);
      await this.#tellPrompt(connection, session, params);
      await this.#keep(session, { state: "running" });
      try {
        return await agent.governor.request("session/prompt", withPreface(session, params), { signal });
      } finally {
        await this.#keep(session, { state: "idle" });
      }
    }, signal);
    // The answer comes after everything that was said before it.
    await connection.caughtUp();
    return result;
  }

  /** The other clients see what was asked. */
  async #tellPrompt(connection: Connection, session: LiveSession, { prompt }: JsonObject): Promise<void> {
    for (const content of Array.isArray(prompt) ? prompt : []) {
      const update = { sessionUpdate: "user_message_chunk", content: this.#redact(content) };
      const message = { method: UPDATE, params: { sessionId: session.id, update } };
      await this.#append(session.record, { message, except: connection.id });
    }
  }

  /** The agent of a session; one that has gone is started anew and takes the session up. */
  async #agentOf(session: LiveSession, signal: AbortSignal): Promise<HostedAgent> {
    if (session.agent) return session.agent;
    await this.#revive(session, {}, signal);
    if (session.agent) return session.agent;
    throw new RpcError(CODE.internal, "the session's agent could not be started");
  }

  async #revive(session: LiveSession, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    const { record } = session;
    const principal = await this.#harness.identity.current({ id: record.principal });
    if (!principal) throw new RpcError(CODE.authRequired, "whoever began the session may do so no more");
    const agent = await this.#pool.acquire(record.agent, principal);
    const asked = { mcpServers: record.mcp_servers, cwd: record.cwd, ...params, sessionId: record.id };
    const result = await agent.governor.request(agent.takesUp ?? "session/new", asked, { signal });
    if (!agent.takesUp) session.preface = await transcriptOf(this.log, record);
    session.agent = agent;
    session.result = result;
    const governed = agent.governor.session(record.id);
    if (governed) session.record = governed.record;
    return result;
  }

  /** A session as the governor begins it, with its place here. */
  #admit(governed: GovernedSession): LiveSession {
    const known = this.#sessions.get(governed.id);
    if (known) {
      known.record = governed.record;
      return known;
    }
    const session = this.#serve(governed.record);
    const connection = governed.mark === undefined ? undefined : this.#beginning.get(governed.mark);
    connection?.attach(session);
    return session;
  }

  async #opened(record: SessionRecord): Promise<LiveSession> {
    return this.#sessions.get(record.id) ?? this.#serve(record);
  }

  #serve(record: SessionRecord): LiveSession {
    const clients = new SessionClients((event) => this.#append(record, event), this.#newId);
    const session = new LiveSession(record, clients, () => this.log.lastOf(record.tenant, record.id));
    this.#sessions.set(record.id, session);
    return session;
  }

  #append(
    { tenant, id }: SessionRecord,
    event: Parameters<ConstructorParameters<typeof SessionClients>[0]>[0],
  ) {
    return this.log.append({ tenant, session: id, ...event });
  }

  async #keep(session: LiveSession, changed: Partial<SessionRecord>): Promise<void> {
    session.record = { ...session.record, ...changed, last_activity: this.#now().toISOString() };
    const put = change(sessionTables, "put", session.record);
    await this.#harness.store.commit([put], { durable: false });
  }

  async #closed(session: LiveSession): Promise<void> {
    await this.#keep(session, { state: "closed" });
    const message = {
      method: "_sandboxagent/session/ended",
      params: { session_id: session.id, sessionId: session.id },
    };
    await this.#append(session.record, { message });
    for (const connection of this.#connections.values()) connection.detach(session.id);
    this.#sessions.delete(session.id);
  }

  /** The sessions of an agent that has gone are told, and wait for the next prompt. */
  #gone(agent: HostedAgent, reason: Error): void {
    for (const session of this.#sessions.values()) {
      if (session.agent !== agent) continue;
      session.agent = undefined;
      session.result = undefined;
    }
    void agent.stop(reason.message).catch(this.#onError);
  }

  async #recover(): Promise<void> {
    for (const { id: tenant } of await this.#harness.identity.listTenants()) {
      const range = { tenant, state: "running" as const, limit: 10_000 };
      for (const record of await this.#harness.store.query(sessionTables, "list", range))
        await this.#interrupted(record);
    }
  }

  async #interrupted(record: SessionRecord): Promise<void> {
    const principal = await this.#harness.identity.current({ id: record.principal });
    if (principal) await recordInterruption(this.#harness, record, principal);
    const put = change(sessionTables, "put", { ...record, state: "idle" });
    await this.#harness.store.commit([put], { durable: false });
    const text =
      "Reins was restarted in the middle of this turn. What was under way may or may not have happened.";
    const update = {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text },
      _meta: { reins: { interrupted: true } },
    };
    await this.#append(record, { message: { method: UPDATE, params: { sessionId: record.id, update } } });
  }

  async #expect(principal: Principal, id: unknown): Promise<SessionRecord> {
    const record = typeof id === "string" ? await this.find(principal, id) : undefined;
    if (record && record.state !== "closed") return record;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
  }
}

/** A prompt with what a new agent has to know first. */
function withPreface(session: LiveSession, params: JsonObject): JsonObject {
  const { preface } = session;
  if (preface === undefined || !Array.isArray(params.prompt)) return params;
  session.preface = undefined;
  return { ...params, prompt: [{ type: "text", text: preface }, ...params.prompt] };
}

/** The agent that a request names for itself. */
function agentIn({ _meta }: JsonObject): string | undefined {
  const meta = membersOf(_meta);
  const named = membersOf(meta.reins).agent ?? membersOf(meta["sandboxagent.dev"]).agent;
  return typeof named === "string" ? named : undefined;
}
