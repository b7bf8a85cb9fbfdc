import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { AgentHost, HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Cursor } from "../log/logged-event.ts";
import type { SessionMode, SessionRecord } from "../sessions/session-record.ts";
import type { SessionRange } from "../sessions/tables.ts";
import { isOurName } from "../wire/reserved-names.ts";
import type { WireTap } from "../wire/tap.ts";
import { AgentPool } from "./agent-pool.ts";
import { join, replay, takeUp } from "./attendance.ts";
import type { Attendant } from "./attendant.ts";
import { agentIn, hearsTurnsIn } from "./begin-meta.ts";
import { Beginnings } from "./beginnings.ts";
import { withCapabilities } from "./capabilities.ts";
import { channelOf } from "./channel.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { HubContext } from "./context.ts";
import { type ExtensionHub, extend, isExtension } from "./extensions.ts";
import type { Outlet } from "./feed.ts";
import { HISTORY, historyOf } from "./history.ts";
import { listingOf } from "./listing.ts";
import type { LiveSession } from "./live-session.ts";
import { closeSession, deleteSession, passOn, passOutside } from "./passage.ts";
import type { AskedIn } from "./question-id.ts";
import { recover } from "./recovery.ts";
import { Rest, type RestOptions } from "./rest.ts";
import { type Ending, ServedSessions, type SessionWatcher } from "./served-sessions.ts";
import type { SessionClients } from "./session-clients.ts";
import type { TurnHearers } from "./turn-hearers.ts";
import { Turns } from "./turns.ts";

/** What a hub stands on. */
export interface HubOptions extends RestOptions {
  readonly harness: Harness;
  readonly host: Pick<AgentHost, "start"> & Partial<Pick<AgentHost, "networkFor" | "separates">>;
  readonly log: EventLog;
  readonly clock?: Clock;
  readonly newId?: () => string;
  /** Sees every message between clients and sessions. */
  readonly tap?: WireTap | undefined;
  /** Told what went wrong in the background. */
  readonly onError?: (error: unknown) => void;
}

/** How a client connects. */
export interface ConnectOptions extends Omit<ConnectionOptions, "id"> {
  readonly id?: string | undefined;
  /** Where its messages go; one that has none opens ways of its own. */
  readonly outlet?: Outlet | undefined;
  /** For one that comes back: up to where it has seen the log. */
  readonly from?: Cursor | undefined;
}

/** Asks for everything that was said in a session, without having anything done in it. */
const REPLAY = "_reins/session/replay";
/** The methods that are about a session. */
const OF_SESSIONS: ReadonlySet<string> = new Set([
  ...["load", "resume", "fork", "prompt", "close", "delete"].map((name) => `session/${name}`),
  ...["set_mode", "set_model", "set_config_option"].map((name) => `session/${name}`),
  REPLAY,
  HISTORY,
]);
/** How long a client that has gone may take to come back, before a question is not left to it any more. */
const GONE_MS = 10_000;
/** How long what a client says that it can do may be. */
const MOST_CAPABILITIES = 64 * 1024;
const TERMINATED: Ending = { reason: "terminated", terminated_by: "daemon" };

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
  readonly #context: HubContext;
  readonly #sessions: ServedSessions;
  readonly #beginnings: Beginnings;
  readonly #turns: Turns;
  readonly #rest: Rest;
  readonly #connections = new Map<string, Connection>();
  /** Calls off, for connections that have gone, that questions are not left to them any more. */
  readonly #goneSoon = new Set<() => void>();
  #closed = false;

  private constructor(options: HubOptions) {
    const { harness, host, log, clock = systemClock, newId = randomUUID } = options;
    const { onError = () => undefined } = options;
    this.log = log;
    this.clock = clock;
    this.tap = options.tap;
    this.redact = harness.redact;
    const present = (session: string) => {
      const prompting = this.live(session)?.prompting;
      return [...this.#connections.values()].filter((one) => one.canBeAsked(session, prompting));
    };
    this.#sessions = new ServedSessions({ harness, log, clock, present, onError });
    const pool = new AgentPool({
      host,
      clients: (session) => this.#beginnings.admit(session).clients,
      onGone: (agent, reason) => this.#rest.gone(agent, reason),
      clock,
    });
    this.#context = { harness, log, clock, newId, sessions: this.#sessions, pool, onError };
    this.#beginnings = new Beginnings(this.#context);
    this.#turns = new Turns(this.#context, {
      rests: (record) => this.attendant?.rests(record),
      overran: (agent, session) => this.#rest.overran(agent, session),
    });
    this.#rest = new Rest(this.#context, options);
  }

  /** Opens a hub. What an earlier run left in the middle of a turn is marked as interrupted. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    await recover(hub.#context);
    hub.#rest.begin();
    return hub;
  }

  /** Connects a client. */
  async connect({
    outlet,
    id = this.#context.newId(),
    from,
    ...options
  }: ConnectOptions): Promise<Connection> {
    const start = from ?? (await this.log.end(options.principal.tenant));
    const connection = new Connection(this, { ...options, id });
    this.#connections.set(id, connection);
    if (outlet) connection.open(outlet, start);
    return connection;
  }

  /** Ends a connection. Its sessions go on. */
  disconnect(connection: Connection): void {
    const { id, sessions } = connection;
    if (this.#connections.get(id) === connection) this.#connections.delete(id);
    connection.close();
    if (this.#closed || !sessions.some((session) => this.live(session)?.clients.questions.length)) return;
    // It may come back before long.
    const callOff = this.clock.after(GONE_MS, () => {
      this.#goneSoon.delete(callOff);
      if (!this.#connections.has(id)) for (const session of sessions) this.live(session)?.clients.left(id);
    });
    this.#goneSoon.add(callOff);
  }

  /** A session that is served here. */
  live(id: string): LiveSession | undefined {
    return this.#sessions.get(id);
  }

  /** Who asks a question that still waits. */
  asking(key: string): SessionClients | undefined {
    return this.#sessions.asking.get(key);
  }

  /** Where a question was asked, also one that was settled lately. */
  askedIn(key: string): AskedIn | undefined {
    return this.#sessions.asking.askedIn(key);
  }

  /** The name in the log of what is for one connection alone: of a session, or of none. */
  channelOf(connection: string, session?: string): string {
    return channelOf(connection, session);
  }

  /** The sessions that a principal may see, the most recently used first. */
  list(principal: Principal, range?: Partial<SessionRange>): Promise<SessionRecord[]> {
    return this.#sessions.list(principal, range);
  }

  /** A session, if the principal may see it. */
  find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    return this.#sessions.find(principal, id);
  }

  /** Tells somebody of every session that is new or not as it was, until the answer is called. */
  watch(watcher: SessionWatcher): () => void {
    return this.#sessions.watch(watcher);
  }

  /** Answers a client. */
  async request(
    connection: Connection,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (method === "initialize") return this.#initialize(connection, params);
    if (method === "session/new") return this.#beginnings.begin(connection, params, signal);
    if (method === "session/list") return listingOf(this, connection.principal, params);
    if (isExtension(method)) return extend(this, connection, method, params);
    if (isOurName(method) && method !== REPLAY && method !== HISTORY)
      throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    if (params.sessionId === undefined && OF_SESSIONS.has(method))
      throw new RpcError(CODE.invalidParams, `${method} needs a sessionId`);
    if (params.sessionId === undefined)
      return passOutside(this.#context, connection, { method, params, signal });
    if (method === REPLAY) return replay(this.#context, connection, params.sessionId);
    if (method === HISTORY)
      return historyOf(this.log, await this.#sessions.see(connection.principal, params.sessionId), params);
    const { principal } = connection;
    const session =
      this.#sessions.open(principal, params.sessionId) ??
      this.#sessions.serve(await this.#sessions.expect(principal, params.sessionId));
    if (method === "session/load" || method === "session/resume")
      return takeUp(this.#context, connection, session, { method, params, signal });
    if (method === "session/fork") return this.#beginnings.fork(connection, session.record, params, signal);
    if (!connection.following.has(session.id)) await join(this.#context, connection, session);
    if (method === "session/prompt") return this.#turns.prompt(connection, session, params, signal);
    const call = { method, params, signal };
    if (method === "session/close") return closeSession(this.#context, connection, session, call);
    if (method === "session/delete") return deleteSession(this.#context, connection, session, call);
    return passOn(this.#context, connection, session, call);
  }

  /** Takes a notification of a client. Nothing of it waits behind a turn. */
  async notification(connection: Connection, method: string, params: JsonObject): Promise<void> {
    if (isExtension(method)) {
      await extend(this, connection, method, params);
      return;
    }
    if (params.sessionId === undefined || isOurName(method)) return;
    const record = await this.#sessions.expect(connection.principal, params.sessionId);
    if (this.attendant?.takes(record, method, params)) return;
    const { starting, agent } = this.#sessions.get(record.id) ?? {};
    if (starting && method === "session/cancel") starting.abort(new Error("the turn was cancelled"));
    else await agent?.governor.notification(method, params);
  }

  /** Tells whoever follows a session what is of the moment only. */
  aside(session: string, message: JsonObject): void {
    for (const connection of this.#connections.values()) connection.aside(session, message);
  }

  /** Who wants to hear when turns begin and end. */
  get hearers(): TurnHearers {
    return this.#turns.hearers;
  }

  /** Has a client hear of the turns of a session from now on, beginning with how things stand. */
  hear(connection: Connection, sessionId: string): void {
    this.#turns.hear(connection, sessionId);
  }

  /** Ends a session for good; whether it was not ended before. */
  async terminate(principal: Principal, id: string, how = TERMINATED): Promise<boolean> {
    const record = await this.find(principal, id);
    if (!record || record.ended) return false;
    await this.#sessions.closeAndEnd(this.#sessions.serve(record), how);
    return true;
  }

  /** Opens a session again that has ended, as it was or in another mode; it goes on where it was. */
  async reopen(principal: Principal, id: string, mode?: SessionMode): Promise<SessionRecord | undefined> {
    const record = await this.find(principal, id);
    if (!record?.ended) return record;
    const open = { state: "idle", ended: undefined, ...(mode !== undefined && { mode }) } as const;
    const session = this.#sessions.serve({ ...record, ...open });
    // Whoever reads one that has ended has it served as it was.
    await this.#sessions.keep(session, open);
    return session.record;
  }

  /** Changes what is kept of a session beside its messages. */
  async annotate(record: SessionRecord, metadata: Readonly<JsonObject>): Promise<void> {
    const session = this.#sessions.serve(record);
    const shown = membersOf(this.redact(metadata));
    const { title } = shown;
    const merged = { ...session.record.metadata, ...shown };
    await this.#sessions.keep(session, { metadata: merged, ...(typeof title === "string" && { title }) });
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
  async running(): Promise<readonly HostedAgent[]> {
    return this.#context.pool.running;
  }

  /** Ends an agent that runs. Its sessions stay, and the next prompt of each starts a new one. */
  restart(agent: HostedAgent, reason: string): Promise<void> {
    return this.#rest.restart(agent, reason);
  }

  /**
   * Ends agents that nobody has used for a while, and forgets sessions that wait for nobody, which come back when they
   * are wanted; forgets for good what is too old to be kept.
   */
  reap(): Promise<void> {
    return this.#rest.reap();
  }

  /**
   * Lets no turn begin any more; those under way may end within a time, and are cut off then as the end of the process
   * would. To be called while clients can still be answered.
   */
  interrupt(graceMs = 0): Promise<void> {
    return this.#turns.interrupt(graceMs);
  }

  /** Ends agents and connections. Sessions are kept. */
  async close(): Promise<void> {
    const { pool, onError } = this.#context;
    await this.interrupt();
    this.#closed = true;
    for (const callOff of this.#goneSoon) callOff();
    this.#rest.end();
    this.attendant?.close();
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
    const sessions = this.#sessions.all.filter(({ agent }) => agent !== undefined);
    await pool.close("Reins is stopping").catch(onError);
    // Turns whose agent has gone still write down how they ended.
    await Promise.all(sessions.map(({ queue }) => queue.settled));
    await Promise.all(sessions.map((session) => this.#sessions.keepAgain(session))).catch(onError);
    await this.#sessions.close().catch(onError);
    await this.log.close().catch(onError);
  }

  async #initialize(connection: Connection, params: JsonObject): Promise<JsonObject> {
    connection.agent = agentIn(params) ?? connection.agent;
    connection.hearsTurns ||= hearsTurnsIn(params);
    const capabilities = membersOf(params.clientCapabilities);
    // Extensions are named beside the capabilities too.
    const _meta = { ...membersOf(params._meta), ...membersOf(capabilities._meta) };
    if (JSON.stringify({ capabilities, _meta }).length > MOST_CAPABILITIES)
      throw new RpcError(
        CODE.invalidParams,
        `a client says what it can do in ${MOST_CAPABILITIES} characters`,
      );
    connection.capabilities = { ...capabilities, _meta };
    if (connection.agent === undefined)
      throw new RpcError(CODE.invalidParams, "initialize has to name an agent");
    const agent = await this.#context.pool.acquire(connection.agent, connection.principal);
    return withCapabilities(agent.initialized);
  }
}
