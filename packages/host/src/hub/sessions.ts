import { CODE, RpcError, updateIn } from "@reins/acp";
import type { Clock } from "@reins/kit";
import { type Harness, isAdmin, type Principal } from "@reins/supervisor";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { EventLog } from "../log/event-log.ts";
import type { SessionEnd, SessionRecord } from "../sessions/session-record.ts";
import { SessionRecords } from "../sessions/session-records.ts";
import type { SessionEffect, SessionEvent, SessionPhase } from "../sessions/session-state.ts";
import type { SessionRange } from "../sessions/tables.ts";
import { turnsOf, UPDATE } from "./channels.ts";
import { AskedQuestions } from "./questions.ts";
import { noSession, Session, SessionClosed } from "./session.ts";
import { type Askable, SessionClients, type SessionMessage } from "./session-clients.ts";
import { ENDED } from "./session-info.ts";

export interface SessionsOptions {
  readonly harness: Harness;
  readonly log: EventLog;
  readonly clock: Clock;
  /** The connections of a session that can be asked now. */
  readonly present: (session: string) => readonly Askable[];
  readonly onError: (error: unknown) => void;
}

/** Receives the record of every session that is new or changed. */
export type SessionWatcher = (record: SessionRecord) => void;

/** How a session ends for good. */
export type Ending = Omit<SessionEnd, "at">;

/** The sessions that this process serves, and those that are stored. */
export class Sessions {
  /** The sessions that ask the questions that are open. */
  readonly asking = new AskedQuestions<SessionClients>();
  readonly #options: SessionsOptions;
  readonly #records: SessionRecords;
  readonly #sessions = new Map<string, Session>();
  readonly #watchers = new Set<SessionWatcher>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#records = new SessionRecords(options);
  }

  /** A session that is served here. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** All that are served here. */
  get all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** Those that an agent has, or is starting or resuming. */
  of(agent: HostedAgent): readonly Session[] {
    return this.all.filter((session) => session.isWith(agent));
  }

  /** One that is served here, if the principal may see it and it has not ended. */
  open(principal: Principal, id: unknown): Session | undefined {
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    return session && !session.record.ended && maySee(principal, session.record) ? session : undefined;
  }

  /** Serves a stored session from now on. */
  serve(record: SessionRecord): Session {
    return this.#sessions.get(record.id) ?? this.#add(record);
  }

  /** Registers a new session that an agent is about to start. */
  create(record: SessionRecord, agent: HostedAgent): Session {
    if (this.#sessions.has(record.id))
      throw new RpcError(CODE.invalidParams, `there is a session "${record.key}" already; resume that one`);
    const session = this.#add(record, "starting");
    session.assign(agent);
    return session;
  }

  /** Serves no session any more that no agent has and that is not busy; the store has its record. */
  unload(): void {
    for (const session of this.all)
      if (!session.agent && !session.isBusy && this.#records.isStored(session.record)) this.#forget(session);
  }

  /** The sessions that a principal may see, the most recently used first. */
  async list(principal: Principal, range: Partial<SessionRange> = {}): Promise<SessionRecord[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { tenant } = principal;
    const stored = await this.#records.list({ limit: 100, ...range, ...own, tenant });
    return stored.map((record) => this.#sessions.get(record.id)?.record ?? record);
  }

  /** The stored sessions of a range, of any principal. */
  stored(range: SessionRange): Promise<SessionRecord[]> {
    return this.#records.list(range);
  }

  /** A session of a tenant, without a check of who may see it. */
  async read(id: string, tenant: string): Promise<SessionRecord | undefined> {
    return this.#sessions.get(id)?.record ?? (await this.#records.get(id, tenant));
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

  /** Adds a message to the log of a session. A promise is to be waited for. */
  append({ tenant, id }: SessionRecord, event: SessionMessage): void | Promise<void> {
    return this.#options.log.append({ tenant, session: id, ...event });
  }

  /** Calls a watcher for every session that is new or changed, until the returned function is called. */
  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Writes what was to be written later. */
  close(): Promise<void> {
    return this.#records.close();
  }

  /** Ends a session for good, after its agent has closed it. */
  async closeAndEnd(session: Session, how: Ending): Promise<void> {
    const { agent, id } = session;
    const { signal } = new AbortController();
    // Before the turn that runs is over, so that no other begins.
    session.cancelPending(noSession(id));
    const closing = agent?.governor.request("session/close", { sessionId: id }, { signal });
    await closing?.catch(this.#options.onError);
    await this.end(session, how);
  }

  /** Withdraws the approvals of a session, also while no agent runs for it. */
  async withdraw({ tenant, id }: SessionRecord, reason: string): Promise<void> {
    await this.#options.harness.approvals.withdraw({ tenant, session: id }, reason);
  }

  /** Ends a session for good, and notifies its clients. */
  async end(session: Session, how: Ending): Promise<void> {
    const at = this.#options.clock.now().toISOString();
    await session.apply({ type: "ended", end: { ...how, at } });
  }

  /** The clients of something that happens outside of every session: nothing finds it but an approval's answer. */
  unlisted(record: SessionRecord): SessionClients {
    return this.#session(record).clients;
  }

  #add(record: SessionRecord, phase?: SessionPhase): Session {
    const session = this.#session(record, phase);
    this.#sessions.set(record.id, session);
    return session;
  }

  #session(record: SessionRecord, phase?: SessionPhase): Session {
    const { id, tenant } = record;
    const { log, harness, present, clock, onError } = this.#options;
    const clients = new SessionClients({
      session: id,
      tenant,
      owner: record.principal,
      asking: this.asking,
      append: (event) => {
        if (session.phase === "interrupted") return;
        this.#observe(session, event);
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
    const session: Session = new Session(
      record,
      {
        clients,
        store: this.#records,
        now: () => clock.now(),
        lastOrder: () => log.lastOf(tenant, id),
        perform: (of, effects, event) => this.#perform(of, effects, event),
      },
      phase,
    );
    return session;
  }

  async #perform(session: Session, effects: readonly SessionEffect[], event: SessionEvent): Promise<void> {
    for (const effect of effects)
      switch (effect) {
        case "notify":
          for (const watcher of this.#watchers) watcher(session.record);
          break;
        case "cancel":
          session.cancelPending(event.type === "released" ? new SessionClosed() : noSession(session.id));
          break;
        case "write":
          await this.#records.put(session.record);
          break;
        case "write_later":
          this.#records.putLater(session);
          break;
        case "withdraw":
          await this.withdraw(session.record, "the session ended");
          break;
        case "announce":
          await this.#announce(session.record);
          break;
        case "forget":
          this.#forget(session);
      }
  }

  #forget(session: Session): void {
    if (this.#sessions.get(session.id) === session) this.#sessions.delete(session.id);
  }

  async #announce(record: SessionRecord): Promise<void> {
    if (!record.ended) return;
    const { reason, terminated_by, message } = record.ended;
    const data = { reason, terminated_by, ...(message !== undefined && { message }) };
    const params = { session_id: record.id, sessionId: record.id, data };
    await this.append(record, { message: { method: ENDED, params } });
  }

  /** Remembers the settings in an agent's update, and stores a title in it. */
  #observe(session: Session, { message }: SessionMessage): void {
    if (message.method !== UPDATE) return;
    const title = session.observe(updateIn(message.params).update);
    if (title === undefined || this.#sessions.get(session.id) !== session) return;
    session.apply({ type: "annotated", changes: { title } }).catch(this.#options.onError);
  }
}

function maySee(principal: Principal, { tenant, principal: owner }: SessionRecord): boolean {
  return tenant === principal.tenant && (isAdmin(principal) || owner === principal.id);
}
