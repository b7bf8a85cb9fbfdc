import { randomUUID } from "node:crypto";
import { change } from "@reins/store";
import { type Clock, type Harness, isAdmin, type Principal, systemClock } from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { AgentHost, HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Cursor } from "../log/logged-event.ts";
import type { SessionEnd, SessionMode, SessionRecord } from "../sessions/session-record.ts";
import { type SessionRange, sessionTables } from "../sessions/tables.ts";
import type { WireTap } from "../wire/tap.ts";
import { AgentPool } from "./agent-pool.ts";
import { agentIn, metadataIn, modeIn } from "./begin-meta.ts";
import { ENDED, withCapabilities } from "./capabilities.ts";
import { channelOf } from "./channel.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { type ExtensionHub, extend, isExtension } from "./extensions.ts";
import type { Outlet } from "./feed.ts";
import { recordInterruption } from "./interruption.ts";
import { leftQuestions, offerAgain } from "./left-questions.ts";
import { LiveSession } from "./live-session.ts";
import { modelOption } from "./models.ts";
import { cancelOf, SessionClients, type SessionEvent } from "./session-clients.ts";
import { listedSession } from "./session-info.ts";
import { transcriptOf } from "./transcript.ts";
import { TURN_ENDED, turnsOf } from "./turn-marks.ts";

/** What a hub stands on. */
export interface HubOptions {
  readonly harness: Harness;
  readonly host: Pick<AgentHost, "start"> & Partial<Pick<AgentHost, "networkFor">>;
  readonly log: EventLog;
  readonly clock?: Clock;
  readonly newId?: () => string;
  /** How long an agent that nobody uses runs on. */
  readonly idleMs?: number | undefined;
  /** How long messages are kept; without it, for ever. */
  readonly retentionMs?: number | undefined;
  /** Sees every message between clients and sessions. */
  readonly tap?: WireTap | undefined;
  /** Told what went wrong in the background. */
  readonly onError?: (error: unknown) => void;
}

/** Attends to sessions while nobody prompts them. */
export interface Attendant {
  /** Takes a notification of a client before the session's agent hears of it; whether it did. */
  takes(session: SessionRecord, method: string, params: JsonObject): boolean;
  /** Told when a turn of a session has ended. */
  rests(session: SessionRecord): void;
  /** Attends to nobody any more. */
  close(): void;
}

/** How a client connects. */
export interface ConnectOptions extends Omit<ConnectionOptions, "id"> {
  readonly id?: string | undefined;
  /** Where its messages go; one that has none opens ways of its own. */
  readonly outlet?: Outlet | undefined;
  /** For one that comes back: up to where it has seen the log. */
  readonly from?: Cursor | undefined;
}

interface SessionCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
}

const UPDATE = "session/update";
/** Asks for everything that was said in a session, without having anything done in it. */
const REPLAY = "_reins/session/replay";
const PAGE = 200;
const IDLE_MS = 30 * 60_000;
const REAP_MS = 60_000;

/** Where clients and sessions meet: any number of clients at any session they may see, and agents that outlive none of it. */
export class Hub implements ExtensionHub {
  readonly log: EventLog;
  readonly clock: Clock;
  /** Whoever attends to sessions while nobody prompts them. */
  attendant: Attendant | undefined;
  /** Sees every message between clients and sessions, if anybody does. */
  readonly tap: WireTap | undefined;
  /** Takes secrets out of what is kept or shown. */
  readonly redact: (value: unknown) => unknown;
  readonly #harness: Harness;
  readonly #pool: AgentPool;
  readonly #newId: () => string;
  readonly #idleMs: number;
  readonly #retentionMs: number | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #sessions = new Map<string, LiveSession>();
  /** Where what the governor still says of a session goes, also after it has ended: nothing brings it back to life. */
  readonly #admitted = new WeakMap<GovernedSession, LiveSession>();
  readonly #connections = new Map<string, Connection>();
  /** Who asks the questions that wait. */
  readonly #asking = new Map<string, SessionClients>();
  /** Connections that began sessions which are not known yet. */
  readonly #beginning = new Map<string, { readonly connection: Connection; session?: LiveSession }>();
  #callOffReaping: () => void = () => undefined;

  private constructor(options: HubOptions) {
    this.log = options.log;
    this.clock = options.clock ?? systemClock;
    this.tap = options.tap;
    this.#harness = options.harness;
    this.#newId = options.newId ?? randomUUID;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.#retentionMs = options.retentionMs;
    this.#onError = options.onError ?? (() => undefined);
    this.redact = options.harness.redact;
    this.#pool = new AgentPool({
      host: options.host,
      clients: (session) => this.#admit(session).clients,
      onGone: (agent, reason) => this.#gone(agent, reason),
      clock: this.clock,
    });
  }

  /** Opens a hub. What an earlier run left in the middle of a turn is marked as interrupted. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    await hub.#recover();
    hub.#reapLater();
    return hub;
  }

  /** Connects a client. */
  async connect({ outlet, id = this.#newId(), from, ...options }: ConnectOptions): Promise<Connection> {
    const start = from ?? (await this.log.end(options.principal.tenant));
    const connection = new Connection(this, { ...options, id });
    this.#connections.set(id, connection);
    if (outlet) connection.open(outlet, start);
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

  /** Who asks a question that still waits. */
  asking(key: string): SessionClients | undefined {
    return this.#asking.get(key);
  }

  /** The name in the log of what is for one connection alone: of a session, or of none. */
  channelOf(connection: string, session?: string): string {
    return channelOf(connection, session);
  }

  /** The sessions that a principal may see, the most recently used first. */
  async list(principal: Principal, range: Partial<SessionRange> = {}): Promise<SessionRecord[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const kept = await this.#harness.store.query(sessionTables, "list", {
      limit: 100,
      ...range,
      ...own,
      tenant,
    });
    return kept.map((record) => this.#sessions.get(record.id)?.record ?? asKept(record));
  }

  /** A session, if the principal may see it. */
  async find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    const { tenant } = principal;
    const record = this.#sessions.get(id)?.record ?? (await this.#kept(id, tenant));
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
    if (isExtension(method)) return extend(this, connection, method, params);
    if (params.sessionId === undefined) return this.#outside(connection, method, params, signal);
    if (method === REPLAY) return this.#replay(connection, params.sessionId);
    const record = await this.#expect(connection.principal, params.sessionId);
    if (method === "session/load" || method === "session/resume")
      return this.#takeUp(connection, record, { method, params, signal });
    if (method === "session/fork") return this.#fork(connection, record, params, signal);
    const session = this.#opened(record);
    await this.#join(connection, session);
    if (method === "session/prompt") return this.#prompt(connection, session, params, signal);
    if (method === "session/close" || method === "session/delete")
      return this.#close(session, { method, params, signal });
    return this.#pass(session, { method, params, signal });
  }

  /** Takes a notification of a client. Nothing of it waits behind a turn. */
  async notification(connection: Connection, method: string, params: JsonObject): Promise<void> {
    if (isExtension(method)) {
      await extend(this, connection, method, params);
      return;
    }
    if (params.sessionId === undefined) return;
    const record = await this.#expect(connection.principal, params.sessionId);
    if (this.attendant?.takes(record, method, params)) return;
    await this.#sessions.get(record.id)?.agent?.governor.notification(method, params);
  }

  /** Tells whoever follows a session what is of the moment only. */
  aside(session: string, message: JsonObject): void {
    for (const connection of this.#connections.values()) connection.aside(session, message);
  }

  /** Ends a session for good; whether it was not ended before. */
  async terminate(
    principal: Principal,
    id: string,
    how: Omit<SessionEnd, "at"> = { reason: "terminated", terminated_by: "daemon" },
  ): Promise<boolean> {
    const record = await this.find(principal, id);
    if (!record || record.ended) return false;
    await this.#closeAndEnd(this.#opened(record), how);
    return true;
  }

  /** Opens a session again that has ended, as it was or in another mode; it goes on where it was. */
  async reopen(principal: Principal, id: string, mode?: SessionMode): Promise<SessionRecord | undefined> {
    const record = await this.find(principal, id);
    if (!record?.ended) return record;
    const session = this.#opened({ ...record, state: "idle", ended: undefined });
    await this.#keep(session, { ...(mode !== undefined && { mode }) });
    return session.record;
  }

  /** Changes what is kept of a session beside its messages. */
  async annotate(record: SessionRecord, metadata: Readonly<JsonObject>): Promise<void> {
    const session = this.#opened(record);
    const shown = membersOf(this.redact(metadata));
    const { title } = shown;
    const merged = { ...session.record.metadata, ...shown };
    await this.#keep(session, { metadata: merged, ...(typeof title === "string" && { title }) });
  }

  /** What is known of a session's modes, models and settings; nothing before its agent told it. */
  settingsOf(id: string): JsonObject {
    return this.#sessions.get(id)?.settings ?? {};
  }

  /** What the newest session of an agent that a principal may see told of its settings. */
  async settingsOfAgent(principal: Principal, agent: string): Promise<JsonObject> {
    for (const { id } of await this.list(principal, { agent, open: true })) {
      const settings = this.settingsOf(id);
      if (Object.keys(settings).length > 0) return settings;
    }
    return {};
  }

  /** How many messages are kept of each of some sessions of a tenant. */
  async countsOf(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    await this.log.written();
    return this.log.counts(tenant, ids);
  }

  /** The agents that run now. */
  running(): Promise<readonly HostedAgent[]> {
    return this.#pool.running();
  }

  /** Ends an agent that runs. Its sessions stay, and the next prompt of each starts a new one. */
  async restart(agent: HostedAgent, reason: string): Promise<void> {
    const sessions = [...this.#sessions.values()].filter((session) => session.agent === agent);
    await this.#letGo(agent, sessions, () => this.#pool.end(agent, reason));
  }

  /**
   * Ends agents that nobody has used for a while, and forgets sessions that wait for nobody, which come back when they
   * are wanted; forgets for good what is too old to be kept.
   */
  async reap(): Promise<void> {
    const before = this.#now() - this.#idleMs;
    for (const agent of await this.#pool.running()) {
      const sessions = [...this.#sessions.values()].filter((session) => session.agent === agent);
      const isIdle = sessions.every((session) => !session.isBusy && session.used <= before);
      if (isIdle && this.#pool.wanted(agent) <= before) await this.#rest(agent, sessions);
    }
    for (const session of this.#sessions.values())
      if (!session.agent && !session.isBusy) this.#sessions.delete(session.id);
    if (this.#retentionMs !== undefined) await this.log.prune(this.#now() - this.#retentionMs);
  }

  /** Ends agents and connections. Sessions are kept. */
  async close(): Promise<void> {
    this.#callOffReaping();
    this.attendant?.close();
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
    const sessions = [...this.#sessions.values()].filter(({ agent }) => agent !== undefined);
    await this.#pool.close("Reins is stopping");
    // Turns whose agent has gone still write down how they ended.
    await Promise.all(sessions.map(({ queue }) => queue.settled));
    await Promise.all(sessions.map((session) => this.#keepAgain(session))).catch(this.#onError);
    await this.log.close().catch(this.#onError);
  }

  async #initialize(connection: Connection, params: JsonObject): Promise<JsonObject> {
    connection.agent = agentIn(params) ?? connection.agent;
    if (connection.agent === undefined)
      throw new RpcError(CODE.invalidParams, "initialize has to name an agent");
    const agent = await this.#pool.acquire(connection.agent, connection.principal);
    return withCapabilities(agent.initialized);
  }

  async #new(connection: Connection, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    const name = agentIn(params) ?? connection.agent;
    if (name === undefined) throw new RpcError(CODE.invalidParams, "session/new has to name an agent");
    const agent = await this.#pool.acquire(name, connection.principal, rootsIn(params));
    return this.#begin(connection, agent, { method: "session/new", params, signal });
  }

  async #fork(connection: Connection, record: SessionRecord, params: JsonObject, signal: AbortSignal) {
    await this.#agentOf(this.#opened(record), signal);
    const agent = await this.#pool.acquire(record.agent, connection.principal, rootsOf(record));
    return this.#begin(connection, agent, { method: "session/fork", params, signal });
  }

  /** Begins a session with an agent; whoever begins it is in front of it from the first question on. */
  async #begin(
    connection: Connection,
    agent: HostedAgent,
    { method, params, signal }: SessionCall,
  ): Promise<unknown> {
    const mark = this.#newId();
    const { descent } = connection;
    const beginning: { readonly connection: Connection; session?: LiveSession } = { connection };
    this.#beginning.set(mark, beginning);
    try {
      const result = membersOf(await agent.governor.request(method, params, { signal, mark, descent }));
      const governed = agent.governor.session(String(result.sessionId));
      if (!governed) throw new RpcError(CODE.internal, "the agent began no session");
      const session = this.#admit(governed);
      // A question on the way may have admitted it before the agent had given it a name.
      session.record = governed.record;
      session.agent = agent;
      session.used = this.#now();
      session.learn(result);
      connection.attach(session, 0);
      await this.#annotateNew(session, params);
      return result;
    } catch (error) {
      const { session } = beginning;
      if (session && !session.agent) {
        connection.detach(session.id);
        this.#sessions.delete(session.id);
      }
      throw error;
    } finally {
      this.#beginning.delete(mark);
    }
  }

  /** Keeps what whoever began a session says of it. */
  async #annotateNew(session: LiveSession, params: JsonObject): Promise<void> {
    const { title, ...metadata } = membersOf(this.redact(metadataIn(params)));
    const mode = modeIn(params);
    if (title === undefined && mode === undefined && Object.keys(metadata).length === 0) return;
    await this.#keep(session, {
      ...(mode !== undefined && { mode }),
      ...(typeof title === "string" && { title }),
      metadata: { ...session.record.metadata, ...metadata, ...(title !== undefined && { title }) },
    });
  }

  /** Takes up a session: a load tells everything that was, a resume goes on from here. */
  async #takeUp(
    connection: Connection,
    record: SessionRecord,
    { method, params, signal }: SessionCall,
  ): Promise<unknown> {
    const session = this.#opened(record);
    await this.#agentOf(session, signal, params);
    session.used = this.#now();
    if (method === "session/load") {
      connection.detach(session.id);
      await connection.replay(session);
    } else await this.#join(connection, session);
    return session.settings;
  }

  /** Tells everything that was said in a session, also in one that has ended, and starts no agent for it. */
  async #replay(connection: Connection, id: unknown): Promise<JsonObject> {
    const record = typeof id === "string" ? await this.find(connection.principal, id) : undefined;
    if (!record) throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
    const session = this.#opened(record);
    connection.detach(session.id);
    await connection.replay(session);
    return session.settings;
  }

  /** Has a client follow a session from now on; what waits for an answer is asked of it too. */
  async #join(connection: Connection, session: LiveSession): Promise<void> {
    if (connection.following.has(session.id)) return;
    await this.log.written();
    const last = this.log.last(connection.principal.tenant);
    if (connection.following.has(session.id)) return;
    connection.attach(session, Math.max(last, session.lastOrder));
    const { id: sessionId, commands: update } = session;
    if (update) await connection.tell({ method: UPDATE, params: { sessionId, update } }, sessionId);
    for (const { key, method, params } of session.clients.questions)
      await connection.ask(session.id, key, { method, params });
  }

  async #listed({ principal }: Connection, { cwd, cursor }: JsonObject): Promise<JsonObject> {
    const range = {
      open: true,
      limit: PAGE + 1,
      ...(typeof cwd === "string" && { cwd }),
      ...(typeof cursor === "string" && { after: cursor }),
    };
    const records = await this.list(principal, range);
    const page = records.slice(0, PAGE);
    const nextCursor = records.length > PAGE ? page.at(-1)?.id : undefined;
    const ids = page.map(({ id }) => id);
    const counts = await this.countsOf(principal.tenant, ids);
    const sessions = page.map((record) => listedSession(record, counts.get(record.id) ?? 0));
    return { sessions, nextCursor: nextCursor ?? null };
  }

  async #outside(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const name = connection.agent;
    if (name === undefined) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    const agent = await this.#pool.acquire(name, connection.principal);
    return agent.governor.request(method, params, { signal });
  }

  /** Passes a request about a session on to its agent. */
  async #pass(session: LiveSession, { method, params, signal }: SessionCall): Promise<unknown> {
    const agent = await this.#agentOf(session, signal);
    session.used = this.#now();
    const option = method === "session/set_model" ? modelOption(session.settings) : undefined;
    const { sessionId, modelId: value } = params;
    const result = option
      ? await agent.governor.request(
          "session/set_config_option",
          { sessionId, configId: option.id, value },
          { signal },
        )
      : await agent.governor.request(method, params, { signal });
    session.learn({ configOptions: membersOf(result).configOptions });
    if (method === "session/set_mode")
      session.learn({ modes: { ...membersOf(session.settings.modes), currentModeId: params.modeId } });
    return result;
  }

  /** Closes a session. An agent that does not run has nothing to close. */
  async #close(session: LiveSession, call: SessionCall): Promise<unknown> {
    const result = session.agent ? await this.#pass(session, call) : {};
    await this.#end(session, { reason: "completed", terminated_by: "daemon" });
    return result;
  }

  async #prompt(connection: Connection, session: LiveSession, params: JsonObject, signal: AbortSignal) {
    const result = await session.queue.run(() => this.#turn(connection, session, params, signal), signal);
    // The answer comes after everything that was said before it.
    await connection.caughtUp(session.said);
    if (session.record.mode === "oneshot")
      await this.#closeAndEnd(session, { reason: "completed", terminated_by: "daemon", message: "oneshot" });
    return result;
  }

  async #turn(connection: Connection, session: LiveSession, params: JsonObject, signal: AbortSignal) {
    await this.#agentOf(session, signal);
    const turn_after = this.log.last(session.record.tenant);
    await this.#tellPrompt(connection, session, params);
    // Not waited for: what is written later comes after it.
    this.#keep(session, { state: "running", turn_after }).catch(this.#onError);
    // Another one, if it has died meanwhile.
    const agent = await this.#agentOf(session, signal);
    const governed = agent.governor.session(session.id);
    const before = governed?.lastTurn;
    try {
      return await agent.governor.request("session/prompt", withPreface(session, params), { signal });
    } catch (error) {
      const { signal: gone } = agent.governor;
      const why = `${RpcError.of(gone.reason).message}.`;
      if (gone.aborted) await this.#tellInterrupted(session.record, why, connection.id);
      throw error;
    } finally {
      session.used = this.#now();
      session.said = this.log.written();
      // Not waited for: how the turn ended is in the log, and what is not done after it is when Reins starts again.
      this.#change(session, { state: "idle", turn_after: undefined });
      this.#conclude(session, governed, before).catch(this.#onError);
      this.attendant?.rests(session.record);
    }
  }

  /** After the entry of a turn is kept that the session has nothing under way; then it is noted which entry it is. */
  async #conclude(
    session: LiveSession,
    governed: GovernedSession | undefined,
    before: string | undefined,
  ): Promise<void> {
    await governed?.placed;
    await Promise.all([this.#put(session), governed?.recorded]);
    const { lastTurn } = governed ?? {};
    if (lastTurn !== before) await this.#noteTurn(session.record, lastTurn);
  }

  /** Notes in the log where a turn ended, and its entry in the ledger. No client is told of it. */
  async #noteTurn({ tenant, id }: SessionRecord, turn: string | undefined): Promise<void> {
    await this.log.append({
      tenant,
      session: turnsOf(id),
      message: { method: TURN_ENDED, params: { turn } },
    });
  }

  /** The other clients see what was asked. Whoever gave it a name sees it too, and so that its turn has come. */
  async #tellPrompt(connection: Connection, session: LiveSession, params: JsonObject): Promise<void> {
    const { prompt, _meta } = params;
    const name = membersOf(membersOf(_meta).reins).prompt;
    const isNamed = typeof name === "string";
    for (const content of Array.isArray(prompt) ? prompt : []) {
      if (isForAgentAlone(content)) continue;
      const update = {
        sessionUpdate: "user_message_chunk",
        content: this.redact(content),
        ...(isNamed && { _meta: { reins: { prompt: name } } }),
      };
      const message = { method: UPDATE, params: { sessionId: session.id, update } };
      await this.#append(session.record, { message, except: isNamed ? undefined : connection.id });
    }
  }

  /** The agent of a session; one that has gone is started anew and takes the session up. */
  async #agentOf(session: LiveSession, signal: AbortSignal, params: JsonObject = {}): Promise<HostedAgent> {
    if (session.agent) return session.agent;
    session.reviving ??= this.#revive(session, params, signal).finally(() => {
      session.reviving = undefined;
    });
    await session.reviving;
    if (session.agent) return session.agent;
    throw new RpcError(CODE.internal, "the session's agent could not be started");
  }

  async #revive(session: LiveSession, params: JsonObject, signal: AbortSignal): Promise<void> {
    const { record } = session;
    const principal = await this.#harness.identity.current({ id: record.principal });
    if (!principal) throw new RpcError(CODE.authRequired, "whoever began the session may do so no more");
    const agent = await this.#pool.acquire(record.agent, principal, rootsOf(record));
    const asked = { mcpServers: record.mcp_servers, cwd: record.cwd, ...params, sessionId: record.id };
    const result = await agent.governor.request(agent.takesUp ?? "session/new", asked, { signal });
    if (!agent.takesUp) session.preface = await transcriptOf(this.log, record);
    session.agent = agent;
    session.learn(result);
    const governed = agent.governor.session(record.id);
    if (governed) session.record = governed.record;
  }

  /** A session as the governor begins it, with its place here. */
  #admit(governed: GovernedSession): LiveSession {
    const admitted = this.#admitted.get(governed);
    if (admitted) return admitted;
    const known = this.#sessions.get(governed.id);
    const session = known ?? this.#serve(governed.record);
    this.#admitted.set(governed, session);
    if (known) return known;
    const beginning = governed.mark === undefined ? undefined : this.#beginning.get(governed.mark);
    if (!beginning) return session;
    beginning.session = session;
    beginning.connection.attach(session, 0);
    return session;
  }

  #opened(record: SessionRecord): LiveSession {
    return this.#sessions.get(record.id) ?? this.#serve(record);
  }

  #serve(record: SessionRecord): LiveSession {
    const { id, tenant } = record;
    const clients = new SessionClients({
      session: id,
      asking: this.#asking,
      append: (event) => {
        this.#heed(session, event);
        return this.#append(record, event);
      },
      note: async (message) => {
        await this.log.append({ tenant, session: turnsOf(id), message });
        await this.log.written();
      },
      redact: this.redact,
      present: () => [...this.#connections.values()].flatMap((one) => (one.following.has(id) ? one.id : [])),
      onError: this.#onError,
    });
    const session = new LiveSession(record, clients, () => this.log.lastOf(tenant, id));
    this.#sessions.set(id, session);
    return session;
  }

  /** What an agent tells of its settings is remembered for whoever asks later. */
  #heed(session: LiveSession, { message }: SessionEvent): void {
    if (message.method !== UPDATE) return;
    const title = session.heed(membersOf(membersOf(message.params).update));
    if (title !== undefined) this.#keep(session, { title }).catch(this.#onError);
  }

  #append({ tenant, id }: SessionRecord, event: SessionEvent): void | Promise<void> {
    return this.log.append({ tenant, session: id, ...event });
  }

  async #keep(session: LiveSession, changed: Partial<SessionRecord>): Promise<void> {
    this.#change(session, changed);
    await this.#put(session);
  }

  #change(session: LiveSession, changed: Partial<SessionRecord>): void {
    const last_activity = this.clock.now().toISOString();
    session.record = { ...session.record, last_activity, ...changed };
    if (session.record.ended) session.record = { ...session.record, state: "closed" };
    // The governor keeps the session too, and must not put what it knew before over this.
    const governed = session.agent?.governor.session(session.id);
    if (governed) governed.record = session.record;
  }

  async #put({ record }: LiveSession): Promise<void> {
    await this.#harness.store.commit([change(sessionTables, "put", record)], { durable: false });
  }

  /** Ends a session for good, after its agent has closed it. */
  async #closeAndEnd(session: LiveSession, how: Omit<SessionEnd, "at">): Promise<void> {
    const { agent, id } = session;
    const { signal } = new AbortController();
    await agent?.governor.request("session/close", { sessionId: id }, { signal }).catch(this.#onError);
    await this.#end(session, how);
  }

  /** Ends a session for good, and tells its clients. */
  async #end(session: LiveSession, how: Omit<SessionEnd, "at">): Promise<void> {
    if (session.record.ended) return;
    const ended = { ...how, at: this.clock.now().toISOString() };
    await this.#keep(session, { state: "closed", ended });
    const { reason, terminated_by, message } = how;
    const data = { reason, terminated_by, ...(message !== undefined && { message }) };
    const params = { session_id: session.id, sessionId: session.id, data };
    await this.#append(session.record, { message: { method: ENDED, params } });
    session.agent = undefined;
    this.#sessions.delete(session.id);
  }

  /** The sessions of an agent that has gone wait for the next prompt. */
  #gone(agent: HostedAgent, reason: Error): void {
    const sessions = [...this.#sessions.values()].filter((session) => session.agent === agent);
    void this.#letGo(agent, sessions, () => agent.stop(reason.message)).catch(this.#onError);
  }

  /** Ends an agent that nobody uses. */
  async #rest(agent: HostedAgent, sessions: readonly LiveSession[]): Promise<void> {
    await this.#letGo(agent, sessions, () => this.#pool.end(agent, "nobody has used it for a while"));
  }

  /** Sessions outlive their agent, whatever the governor writes when it ends. */
  async #letGo(
    agent: HostedAgent,
    sessions: readonly LiveSession[],
    stop: () => Promise<unknown>,
  ): Promise<void> {
    for (const session of sessions) session.agent = undefined;
    await stop();
    for (const session of sessions)
      if (!session.record.ended && (session.agent === undefined || session.agent === agent))
        await this.#keepAgain(session);
  }

  /** Keeps a session as it was, because somebody put something else over it. */
  #keepAgain(session: LiveSession): Promise<void> {
    return this.#keep(session, { last_activity: session.record.last_activity });
  }

  #reapLater(): void {
    this.#callOffReaping = this.clock.after(REAP_MS, () => {
      this.reap()
        .catch(this.#onError)
        .finally(() => this.#reapLater());
    });
  }

  async #recover(): Promise<void> {
    for (const { id: tenant } of await this.#harness.identity.listTenants()) {
      const range = { tenant, state: "running" as const, limit: 10_000 };
      for (const record of await this.#harness.store.query(sessionTables, "list", range))
        await this.#interrupted(record);
    }
  }

  /** A turn that an earlier run was in the middle of is over; what it asked and still counts is asked again. */
  async #interrupted(record: SessionRecord): Promise<void> {
    const left = await leftQuestions(this.log, record);
    const principal = await this.#harness.identity.current({ id: record.principal });
    const isCut = !principal || (await recordInterruption(this.#harness, this.log, record, principal));
    const session = this.#serve({ ...record, state: "idle", turn_after: undefined });
    await this.#keepAgain(session);
    if (!isCut) return;
    for (const { key } of left) await this.#append(record, { message: cancelOf(key) });
    await this.#tellInterrupted(record, "Reins was restarted.");
    // Nobody waits for a subagent any more, and nobody may take it up.
    if (record.parent !== undefined)
      return this.#end(session, { reason: "terminated", terminated_by: "daemon", message: "interrupted" });
    const { approvals } = this.#harness;
    const { id, clients } = session;
    for (const question of left)
      offerAgain(approvals, { id, tenant: record.tenant, clients }, question).catch(this.#onError);
  }

  /** Tells everybody but whoever learns it otherwise that a turn was cut off. */
  async #tellInterrupted(record: SessionRecord, why: string, except?: string): Promise<void> {
    const text = `${why} The turn was cut off; what was under way may or may not have happened.`;
    const update = {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text },
      _meta: { reins: { interrupted: true } },
    };
    const message = { method: UPDATE, params: { sessionId: record.id, update } };
    await this.#append(record, { message, except });
  }

  async #kept(id: string, tenant: string): Promise<SessionRecord | undefined> {
    const record = await this.#harness.store.query(sessionTables, "get", { id, tenant });
    return record && asKept(record);
  }

  async #expect(principal: Principal, id: unknown): Promise<SessionRecord> {
    const record = typeof id === "string" ? await this.find(principal, id) : undefined;
    if (record && !record.ended) return record;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
  }

  #now(): number {
    return this.clock.now().getTime();
  }
}

/** A session that an agent left behind when it ended is there to be taken up. */
function asKept(record: SessionRecord): SessionRecord {
  return record.state === "closed" && !record.ended ? { ...record, state: "idle" } : record;
}

/** Whether a block of a prompt says that it is not for people. */
function isForAgentAlone(content: unknown): boolean {
  const { audience } = membersOf(membersOf(content).annotations);
  return Array.isArray(audience) && audience.length > 0 && !audience.includes("user");
}

/** A prompt with what a new agent has to know first. */
function withPreface(session: LiveSession, params: JsonObject): JsonObject {
  const { preface } = session;
  if (preface === undefined || !Array.isArray(params.prompt)) return params;
  session.preface = undefined;
  return { ...params, prompt: [{ type: "text", text: preface }, ...params.prompt] };
}

/** The folders that a new session is to work in. */
function rootsIn({ cwd, additionalDirectories }: JsonObject): readonly string[] {
  const more: unknown[] = Array.isArray(additionalDirectories) ? additionalDirectories : [];
  return [cwd, ...more].filter((path) => typeof path === "string");
}

/** The folders that a session works in. */
function rootsOf({ cwd, additional_directories }: SessionRecord): readonly string[] {
  return [cwd, ...additional_directories];
}
