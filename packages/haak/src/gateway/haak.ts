import { randomUUID } from "node:crypto";
import type { Catalogue } from "@reins/agents";
import {
  type Hub,
  newSessionRecord,
  type SessionFolders,
  type SessionRecord,
  type SessionState,
  sessionTables,
  type TurnOffers,
} from "@reins/host";
import { type Clock, KeyedQueue, systemClock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import {
  backendOf,
  beginSession,
  chooseModel,
  keptModel,
  type SessionWish,
  trustOf,
} from "./open-session.ts";
import { saidIn } from "./prompt.ts";
import type { Emit, InitParams, NumberedEvent, RunParams } from "./protocol.ts";
import { HaakError } from "./protocol.ts";
import { derivedKey, HaakSessions, PendingSessions, standingKey } from "./sessions.ts";
import { HaakTurn } from "./turn.ts";

/** What HAAK's sessions stand on. */
export interface HaakOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly catalogue: Catalogue;
  readonly offers: TurnOffers;
  /** Takes secrets out of what is shown. */
  readonly redact: (value: unknown) => unknown;
  /** Which folder sessions work in that name none. */
  readonly folders: Pick<SessionFolders, "defaultFor">;
  /** The agent behind sessions that name none; by default `native`. */
  readonly backend?: string | undefined;
  /** Whether an agent is there to be run. By default all are. */
  readonly isInstalled?: ((agent: string) => Promise<boolean>) | undefined;
  /** Told when a turn of a session is over. */
  readonly onTurnOver?: ((session: string) => void) | undefined;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** A session as `session.init` tells it. */
export interface InitializedSession {
  readonly session_key: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly trust: string;
  readonly backend: string;
  readonly mode: string;
  readonly model: string | null;
}

/** How many persistent sessions are looked at for one that is free. */
const MOST_PERSISTENT = 1_000;

/** HAAK's five methods, over the sessions of the hub. */
export class Haak {
  readonly sessions: HaakSessions;
  readonly #options: HaakOptions;
  readonly #clock: Clock;
  readonly #newId: () => string;
  /** One request of a session after the other begins: turns in the order in which they came, and a session once. */
  readonly #entering = new KeyedQueue();
  readonly #pending = new PendingSessions();

  constructor(options: HaakOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#newId = options.newId ?? randomUUID;
    this.sessions = new HaakSessions({ ...options, clock: this.#clock });
  }

  /** Begins a session, or finds or opens again the one of its key. */
  async init(principal: Principal, params: InitParams): Promise<InitializedSession> {
    const { agent_id, session_key = derivedKey(agent_id, this.#newId()), mode = "domain" } = params;
    return this.#entering.run(placeOf(principal, session_key), async () => {
      const known = await this.sessions.find(principal, session_key);
      const found = known && (await this.#found(principal, known, params));
      const backend = backendOf(params.backend ?? found?.agent ?? this.#options.backend ?? "native");
      const begun = this.#begunAt(principal, params, session_key);
      const wish = { agent_id, session_key, backend, mode, model: params.model, cwd: params.cwd, begun };
      try {
        const { record, model } = await this.#attain(principal, wish, found);
        return this.#shown(principal, record, model);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const record = await this.sessions.find(principal, session_key);
        return record ? this.#shown(principal, record) : this.#unbegun(principal, wish);
      }
    });
  }

  /** Runs one turn, or goes on with the one that waits for its client. What comes after it has begun are events. */
  async run(principal: Principal, params: RunParams, emit: Emit): Promise<void> {
    const entered = await this.#entering.run(placeOf(principal, params.session_key), () =>
      this.#enter(principal, params, emit),
    );
    await entered.told;
  }

  /** Has a turn begin, or go on; `told` settles when what there is to tell of it for now has been told. */
  async #enter(
    principal: Principal,
    params: RunParams,
    emit: Emit,
  ): Promise<{ readonly told: void | Promise<void> }> {
    const { session_key, message, messages = message ? [message] : [] } = params;
    // None at all are the agent's own, as when the client says nothing of tools.
    const tools = params.tools?.length ? params.tools : undefined;
    const record = await this.#runnable(principal, session_key);
    if ("fault" in record) return { told: emit(record.fault) };
    const said = saidIn(messages);
    const session = await this.sessions.of(record);
    for (const turn of session.turns) {
      const resumed = turn.resume(said, emit);
      if (resumed) return { told: resumed };
      if (turn.isPaused) turn.cancel("its client went on without carrying out what it was to");
    }
    const [unwanted] = said.results;
    if (unwanted && said.prompt.length === 0)
      throw new HaakError(
        "invalid_params",
        `no call "${unwanted.id}" waits for a result; say something instead`,
      );
    const isFresh = session.turns.size === 0 && (await this.#isFresh(record));
    const earlier = said.earlier !== undefined && isFresh ? [{ type: "text", text: said.earlier }] : [];
    const prompt = [...earlier, ...said.prompt];
    if (prompt.length === 0)
      throw new HaakError("invalid_params", "turn.run needs something that the user says");
    const turn = new HaakTurn(
      { ...this.#options, clock: this.#clock },
      {
        record,
        entry: this.#options.catalogue.entry(record.agent),
        principal,
        sequence: session.sequence,
        said: { ...said, prompt },
        tools,
        onBegin: () => {
          session.cancelled = false;
        },
      },
    );
    session.turns.add(turn);
    // A turn may outlast its first stretch.
    void turn.ended.then(() => {
      session.turns.delete(turn);
      this.#options.onTurnOver?.(record.id);
    });
    return { told: turn.begin(emit, session.queue) };
  }

  /** Ends the turn that is under way in a session, whoever began it. */
  async cancel(principal: Principal, key: string): Promise<void> {
    if (this.#pending.get(principal, key)) return;
    const { hub } = this.#options;
    const record = await this.sessions.expect(principal, key);
    const session = await this.sessions.of(record);
    const [turn] = session.turns;
    if (record.state === "running" || turn) session.cancelled = true;
    if (turn) turn.cancel("the turn was cancelled");
    const connection = await hub.connect({ principal });
    try {
      await connection.notification("session/cancel", { sessionId: record.id });
    } finally {
      hub.disconnect(connection);
    }
  }

  /** Closes a session; it stays on disk, and `init` opens it again. */
  async close(principal: Principal, key: string, reason = "closed"): Promise<void> {
    const wasPending = this.#pending.forget(principal, key);
    const record = await this.sessions.find(principal, key);
    if (!record && wasPending) return;
    if (!record) throw new HaakError("session_not_found", `there is no session "${key}"`);
    await this.end(principal, record, reason);
  }

  /** Ends a session for a reason that stays with it. */
  async end(principal: Principal, { id }: SessionRecord, reason: string): Promise<void> {
    const { hub, offers } = this.#options;
    for (const turn of this.sessions.known(id)?.turns ?? []) turn.cancel("the session was closed");
    await hub.terminate(principal, id, { reason: "completed", terminated_by: "daemon", message: reason });
    this.sessions.forget(id);
    offers.forget(id);
  }

  /** The keys of an agent's open persistent sessions, the standing one first. */
  async persistentKeys(principal: Principal, agent: string): Promise<readonly string[]> {
    const { tenant, id } = principal;
    const range = { tenant, principal: id, open: true, mode: "persistent", limit: MOST_PERSISTENT } as const;
    const records = await this.#options.harness.store.query(sessionTables, "list", range);
    const keys = records
      .filter(({ acts_as, agent: behind }) => (acts_as ?? behind) === agent)
      .map(({ key }) => key);
    return [standingKey(agent), ...keys.filter((key) => key !== standingKey(agent))];
  }

  /** Where a session stands. */
  async status(principal: Principal, key: string): Promise<SessionState> {
    if (this.#pending.get(principal, key)) return "idle";
    const record = await this.sessions.find(principal, key);
    if (!record) throw new HaakError("session_not_found", `there is no session "${key}"`);
    if (record.ended) return "closed";
    const isCancelled = record.state === "idle" && this.sessions.known(record.id)?.cancelled;
    return isCancelled ? "cancelled" : record.state;
  }

  /** A session of the same key, which has to be that of the same agent; one that was closed is opened again. */
  async #found(principal: Principal, record: SessionRecord, params: InitParams): Promise<SessionRecord> {
    const { agent_id, backend, mode } = params;
    const isSame = (record.acts_as ?? record.agent) === agent_id;
    if (!isSame || (backend !== undefined && backendOf(backend) !== record.agent))
      throw new HaakError(
        "session_conflict",
        `the session "${record.key}" is ${record.acts_as ?? record.agent}'s, on ${record.agent}; choose another key`,
      );
    const { hub } = this.#options;
    // Coming back to a session is using it.
    if (!record.ended) await hub.annotate(record, {});
    return (await hub.reopen(principal, record.id, mode)) ?? record;
  }

  /** When a session was first asked for: one that waits for its agent keeps the id that its client got. */
  #begunAt(principal: Principal, { agent_id }: InitParams, key: string): Date {
    const wish = this.#pending.get(principal, key)?.wish;
    if (wish && wish.agent_id !== agent_id)
      throw new HaakError(
        "session_conflict",
        `the session "${key}" is ${wish.agent_id}'s, on ${wish.backend}; choose another key`,
      );
    return wish?.begun ?? this.#clock.now();
  }

  /** The session that is wished for, begun if there is none, with its model. What cannot be had now is kept in mind. */
  async #attain(
    principal: Principal,
    wish: SessionWish,
    found: SessionRecord | undefined,
  ): Promise<{ readonly record: SessionRecord; readonly model: string | undefined }> {
    const { session_key } = wish;
    try {
      const record = found ?? (await beginSession(this.#options, principal, wish));
      const model = await chooseModel(this.#options, principal, record, wish.model);
      const pending = this.#pending.get(principal, session_key);
      if (pending) (await this.sessions.of(record)).sequence.follow(pending.sequence);
      this.#pending.forget(principal, session_key);
      return { record, model };
    } catch (error) {
      if (isUnavailable(error)) this.#pending.keep(principal, wish);
      throw error;
    }
  }

  #shown(principal: Principal, record: SessionRecord, model = keptModel(record)): InitializedSession {
    const agent_id = record.acts_as ?? record.agent;
    return {
      session_key: record.key,
      session_id: record.id,
      agent_id,
      trust: trustOf(this.#options.harness, principal, agent_id),
      backend: record.agent,
      mode: record.mode,
      model: model ?? null,
    };
  }

  /** What is told of a session whose agent cannot be had now. */
  #unbegun(principal: Principal, wish: SessionWish): InitializedSession {
    const { agent_id, session_key, backend, mode, model, begun } = wish;
    const made = {
      agent: backend,
      acts_as: agent_id,
      key: session_key,
      principal,
      cwd: wish.cwd ?? "",
    };
    const record = newSessionRecord({ ...made, channel: "ws", peer: "", created: begun });
    return this.#shown(principal, { ...record, mode }, model);
  }

  /** The session that a turn is for, or what is told instead where its agent or its model cannot be had. */
  async #runnable(
    principal: Principal,
    key: string,
  ): Promise<SessionRecord | { readonly fault: NumberedEvent }> {
    const pending = this.#pending.get(principal, key);
    const found = pending && (await this.sessions.find(principal, key));
    if (!pending || found?.ended) return this.sessions.expect(principal, key);
    try {
      const { record } = await this.#attain(principal, pending.wish, found);
      return record;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const { code, message } = error;
      return { fault: pending.sequence.number({ type: "error", code, message }) };
    }
  }

  /** Whether nothing was said in a session yet. */
  async #isFresh({ tenant, id }: SessionRecord): Promise<boolean> {
    const counts = await this.#options.hub.countsOf(tenant, [id]);
    return (counts.get(id) ?? 0) === 0;
  }
}

function isUnavailable(error: unknown): error is HaakError {
  return error instanceof HaakError && error.code === "backend_unavailable";
}

function placeOf({ tenant }: Principal, key: string): string {
  return `${tenant}\n${key}`;
}
