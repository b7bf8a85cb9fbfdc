import { CODE, membersOf, RpcError } from "@reins/acp";
import type { Clock } from "@reins/kit";
import { change } from "@reins/store";
import { type Harness, isAdmin, type Principal } from "@reins/supervisor";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import { holdBack } from "../log/held-back.ts";
import type { SessionEnd, SessionRecord } from "../sessions/session-record.ts";
import { type SessionRange, sessionTables } from "../sessions/tables.ts";
import { ENDED } from "./capabilities.ts";
import { LiveSession } from "./live-session.ts";
import { AskedQuestions } from "./question-id.ts";
import { type Askable, SessionClients, type SessionEvent } from "./session-clients.ts";
import { turnsOf, UPDATE } from "./turn-marks.ts";

/** What sessions are served with. */
export interface ServedSessionsOptions {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  /** The connections of a session that can be asked now. */
  readonly present: (session: string) => readonly Askable[];
  readonly onError: (error: unknown) => void;
}

/** How long what is known of a session may wait to be kept: in a busy one, its next turn begins within it. */
const LATER_MS = 20;

/** Told of a session that is new or not as it was. */
export type SessionWatcher = (record: SessionRecord) => void;

/** How a session ends for good. */
export type Ending = Omit<SessionEnd, "at">;

/** The sessions that this process serves, and those that are kept: what is told of them, and what is kept of them. */
export class ServedSessions {
  /** Who asks the questions that wait. */
  readonly asking = new AskedQuestions<SessionClients>();
  readonly #options: ServedSessionsOptions;
  readonly #sessions = new Map<string, LiveSession>();
  readonly #watchers = new Set<SessionWatcher>();
  /** Those of which something is to be kept, and what calls off that it is. */
  readonly #toPut = new Map<string, LiveSession>();
  #callOff: (() => void) | undefined;
  readonly #holdNoMore: () => void;

  constructor(options: ServedSessionsOptions) {
    this.#options = options;
    this.#holdNoMore = holdBack(options.harness.store, () => this.#putAll());
  }

  /** A session that is served here. */
  get(id: string): LiveSession | undefined {
    return this.#sessions.get(id);
  }

  /** All that are served here. */
  get all(): readonly LiveSession[] {
    return [...this.#sessions.values()];
  }

  /** Those that an agent knows. */
  of(agent: HostedAgent): readonly LiveSession[] {
    return this.all.filter((session) => session.agent === agent);
  }

  /** One that is served here, if the principal may see it and it has not ended. */
  open(principal: Principal, id: unknown): LiveSession | undefined {
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    return session && !session.record.ended && maySee(principal, session.record) ? session : undefined;
  }

  /** A session as it is served here, from now on. */
  serve(record: SessionRecord): LiveSession {
    const known = this.#sessions.get(record.id);
    if (known) return known;
    const session = this.apart(record);
    this.#sessions.set(record.id, session);
    return session;
  }

  /** Serves it no more; what is kept of it stays. */
  forget(id: string): void {
    this.#sessions.delete(id);
  }

  /** The sessions that a principal may see, the most recently used first. */
  async list(principal: Principal, range: Partial<SessionRange> = {}): Promise<SessionRecord[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const { store } = this.#options.harness;
    // So that each is found by the state that it is in.
    await this.#putAll();
    const kept = await store.query(sessionTables, "list", { limit: 100, ...range, ...own, tenant });
    return kept.map((record) => this.#sessions.get(record.id)?.record ?? asKept(record));
  }

  /** A session, if the principal may see it. */
  async find(principal: Principal, id: string): Promise<SessionRecord | undefined> {
    const record = this.#sessions.get(id)?.record ?? (await this.#kept(id, principal.tenant));
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

  /** Throws for a session that has ended. */
  expectOpen({ id, record }: LiveSession): void {
    if (record.ended) throw noSession(id);
  }

  /** Adds a message to the log of a session. A promise is to be waited for. */
  append({ tenant, id }: SessionRecord, event: SessionEvent): void | Promise<void> {
    return this.#options.log.append({ tenant, session: id, ...event });
  }

  /** Changes what is known of a session, and keeps it. */
  async keep(session: LiveSession, changed: Partial<SessionRecord>): Promise<void> {
    this.change(session, changed);
    await this.put(session);
  }

  /** Changes what is known of a session. */
  change(session: LiveSession, changed: Partial<SessionRecord>): void {
    const last_activity = this.#options.clock.now().toISOString();
    session.record = { ...session.record, last_activity, ...changed };
    if (session.record.ended) session.record = { ...session.record, state: "closed" };
    // The governor keeps the session too, and must not put what it knew before over this.
    const governed = session.agent?.governor.session(session.id);
    if (governed) governed.record = session.record;
    this.tell(session);
  }

  /** Tells somebody of every session that is new or not as it was, until the answer is called. */
  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Tells whoever watches that a session is new or not as it was. */
  tell({ record }: LiveSession): void {
    for (const watcher of this.#watchers) watcher(record);
  }

  /** Keeps what is known of a session. */
  async put(session: LiveSession): Promise<void> {
    const { store } = this.#options.harness;
    this.#toPut.delete(session.id);
    if (session.isCut) return;
    await store.commit([change(sessionTables, "put", session.record)], { durable: false });
  }

  /** Keeps what is known of a session a little later, unless that is done before for another reason. */
  putLater(session: LiveSession): void {
    this.#toPut.set(session.id, session);
    this.#callOff ??= this.#options.clock.after(LATER_MS, () => {
      this.#callOff = undefined;
      this.#putAll().catch(this.#options.onError);
    });
  }

  /** Keeps now what was to be kept later. */
  async close(): Promise<void> {
    this.#holdNoMore();
    await this.#putAll();
  }

  /** Keeps a session as it was, because somebody put something else over it. */
  keepAgain(session: LiveSession): Promise<void> {
    return this.keep(session, { last_activity: session.record.last_activity });
  }

  /** Ends a session for good, after its agent has closed it. */
  async closeAndEnd(session: LiveSession, how: Ending): Promise<void> {
    const { agent, id } = session;
    const { signal } = new AbortController();
    // Before the turn that runs is over, so that no other begins.
    session.callOff(noSession(id));
    const closing = agent?.governor.request("session/close", { sessionId: id }, { signal });
    await closing?.catch(this.#options.onError);
    await this.end(session, how);
  }

  /** Withdraws the approvals of a session, also while no agent runs for it. */
  async withdraw({ tenant, id }: SessionRecord, reason: string): Promise<void> {
    await this.#options.harness.approvals.withdraw({ tenant, session: id }, reason);
  }

  /** Ends a session for good, and tells its clients. */
  async end(session: LiveSession, how: Ending): Promise<void> {
    if (session.record.ended) return;
    const ended = { ...how, at: this.#options.clock.now().toISOString() };
    const keeping = this.keep(session, { state: "closed", ended });
    session.callOff(noSession(session.id));
    await keeping;
    await this.withdraw(session.record, "the session ended");
    const { reason, terminated_by, message } = how;
    const data = { reason, terminated_by, ...(message !== undefined && { message }) };
    const params = { session_id: session.id, sessionId: session.id, data };
    await this.append(session.record, { message: { method: ENDED, params } });
    session.agent = undefined;
    this.forget(session.id);
  }

  async #putAll(): Promise<void> {
    this.#callOff?.();
    this.#callOff = undefined;
    // One that has ended may have been opened anew meanwhile.
    const sessions = [...this.#toPut].map(([id, session]) => this.#sessions.get(id) ?? session);
    await Promise.all(sessions.map((session) => this.put(session)));
  }

  /** A session as {@link serve} gives it, that nobody else finds: what is still said of it goes to its log. */
  apart(record: SessionRecord): LiveSession {
    const { id, tenant } = record;
    const { log, harness, present, onError } = this.#options;
    const clients = new SessionClients({
      session: id,
      tenant,
      owner: record.principal,
      asking: this.asking,
      append: (event) => {
        if (session.isCut) return;
        this.#heed(session, event);
        return this.append(record, event);
      },
      note: async (message) => {
        await log.append({ tenant, session: turnsOf(id), message });
        await log.written();
      },
      redact: harness.redact,
      present: () => present(id),
      prompting: () => session.prompting,
      onError,
    });
    const session = new LiveSession(record, clients, () => log.lastOf(tenant, id));
    return session;
  }

  /** What an agent tells of its settings is remembered for whoever asks later. */
  #heed(session: LiveSession, { message }: SessionEvent): void {
    if (message.method !== UPDATE) return;
    const title = session.heed(membersOf(membersOf(message.params).update));
    if (title === undefined || this.#sessions.get(session.id) !== session) return;
    this.keep(session, { title }).catch(this.#options.onError);
  }

  async #kept(id: string, tenant: string): Promise<SessionRecord | undefined> {
    const record = await this.#options.harness.store.query(sessionTables, "get", { id, tenant });
    return record && asKept(record);
  }
}

function maySee(principal: Principal, { tenant, principal: owner }: SessionRecord): boolean {
  return tenant === principal.tenant && (isAdmin(principal) || owner === principal.id);
}

/** What is said to who asks for a session that is not there, or not for them. */
export function noSession(id: unknown): RpcError {
  return new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
}

/** A session that an agent left behind when it ended is there to be taken up. */
export function asKept(record: SessionRecord): SessionRecord {
  return record.state === "closed" && !record.ended ? { ...record, state: "idle" } : record;
}
