import { randomUUID } from "node:crypto";
import type { Catalogue } from "@reins/agents";
import { newSessionRecord, type SessionRecord, type SessionState, sessionTables } from "@reins/host";
import { type Clock, KeyedQueue, systemClock } from "@reins/kit";
import type { Principal } from "@reins/supervisor";
import {
  type Emit,
  HaakError,
  type InitParams,
  type NumberedEvent,
  type RunParams,
  turnInput,
} from "./protocol.ts";
import {
  backendOf,
  chooseModel,
  claimedTrust,
  derivedKey,
  HaakSessions,
  type OpenSessionOptions,
  openSession,
  PendingSessions,
  type SessionRequest,
  standingKey,
  storedModel,
} from "./sessions.ts";
import { HaakTurn, type HaakTurnOptions } from "./turn.ts";

export interface HaakOptions extends OpenSessionOptions, Omit<HaakTurnOptions, "clock"> {
  readonly catalogue: Catalogue;
  /** The agent behind sessions that name none; by default `native`. */
  readonly backend?: string | undefined;
  /** Runs after each turn with the session's id. */
  readonly onTurnOver?: ((session: string) => void) | undefined;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** The response to `session.init`. */
export interface InitializedSession {
  readonly session_key: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly trust: string;
  readonly backend: string;
  readonly mode: string;
  readonly model: string | null;
}

/** The most persistent sessions of a principal that are searched for an idle one. */
const MAX_PERSISTENT = 1_000;

/** HAAK's five methods on the sessions of the hub. */
export class Haak {
  readonly sessions: HaakSessions;
  readonly #options: HaakOptions;
  readonly #clock: Clock;
  readonly #newId: () => string;
  /** Serializes the start of requests by session key: turns keep their order, and a session begins once. */
  readonly #starts = new KeyedQueue();
  readonly #pending = new PendingSessions();

  constructor(options: HaakOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#newId = options.newId ?? randomUUID;
    this.sessions = new HaakSessions(options.hub, options.harness);
  }

  /** Begins a session, or finds or reopens the one of its key. */
  async init(principal: Principal, params: InitParams): Promise<InitializedSession> {
    const { agent_id, session_key = derivedKey(agent_id, this.#newId()), mode = "domain" } = params;
    return this.#starts.run(queueKey(principal, session_key), async () => {
      const stored = await this.sessions.find(principal, session_key);
      const found = stored && (await this.#reopen(principal, stored, params));
      const backend = backendOf(params.backend ?? found?.agent ?? this.#options.backend ?? "native");
      const requested = this.#requestedAt(principal, params, session_key);
      const { model, cwd } = params;
      const request = { agent_id, session_key, backend, mode, model, cwd, requested };
      try {
        const opened = await this.#open(principal, request, found);
        return this.#response(principal, opened.record, opened.model);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const record = await this.sessions.find(principal, session_key);
        return record ? this.#response(principal, record) : this.#pendingResponse(principal, request);
      }
    });
  }

  /** Runs a turn, or resumes the one that waits for its client. Failures after it has begun are events. */
  async run(principal: Principal, params: RunParams, emit: Emit): Promise<void> {
    const arrival = this.#options.hub.arrive();
    const started = await this.#starts.run(queueKey(principal, params.session_key), () =>
      this.#start(principal, params, emit, arrival),
    );
    await started.segment;
  }

  /** Begins or resumes a turn. `segment` resolves when its current segment has been emitted. */
  async #start(
    principal: Principal,
    params: RunParams,
    emit: Emit,
    arrival: number,
  ): Promise<{ readonly segment: void | Promise<void> }> {
    const { session_key, message, messages = message ? [message] : [] } = params;
    // An empty list means the agent's own tools, as an absent one does.
    const tools = params.tools?.length ? params.tools : undefined;
    const record = await this.#runnable(principal, session_key);
    if ("fault" in record) return { segment: emit(record.fault) };
    const input = turnInput(messages);
    const session = await this.sessions.use(record);
    for (const turn of session.turns) {
      const resumed = turn.resume(input, emit);
      if (resumed) return { segment: resumed };
      if (turn.isPaused) turn.cancel("its client went on without carrying out what it was to");
    }
    const [unexpected] = input.results;
    if (unexpected && input.prompt.length === 0)
      throw new HaakError(
        "invalid_params",
        `no call "${unexpected.id}" waits for a result; say something instead`,
      );
    const isFresh = session.turns.size === 0 && (await this.#isFresh(record));
    const earlier = input.earlier !== undefined && isFresh ? [{ type: "text", text: input.earlier }] : [];
    const prompt = [...earlier, ...input.prompt];
    if (prompt.length === 0)
      throw new HaakError("invalid_params", "turn.run needs something that the user says");
    const turn = new HaakTurn(
      { ...this.#options, clock: this.#clock },
      {
        record,
        entry: this.#options.catalogue.entry(record.agent),
        principal,
        sequence: session.sequence,
        input: { ...input, prompt },
        tools,
        arrival,
        onBegin: () => {
          session.cancelled = false;
        },
      },
    );
    session.turns.add(turn);
    void turn.ended.then(() => {
      session.turns.delete(turn);
      this.#options.onTurnOver?.(record.id);
    });
    return { segment: turn.begin(emit, session.queue) };
  }

  /** Cancels the running turn of a session, also one that another client began. */
  async cancel(principal: Principal, key: string): Promise<void> {
    if (this.#pending.get(principal, key)) return;
    const { hub } = this.#options;
    const record = await this.sessions.expect(principal, key);
    const session = await this.sessions.use(record);
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

  /** Closes a session. It stays on disk, and `init` reopens it. */
  async close(principal: Principal, key: string, reason = "closed"): Promise<void> {
    const wasPending = this.#pending.get(principal, key) !== undefined;
    this.#pending.forget(principal, key);
    const record = await this.sessions.find(principal, key);
    if (!record && wasPending) return;
    if (!record) throw notFound(key);
    await this.end(principal, record, reason);
  }

  /** Ends a session; the reason is stored with it. */
  async end(principal: Principal, { id }: SessionRecord, reason: string): Promise<void> {
    const { hub, offers } = this.#options;
    for (const turn of this.sessions.used(id)?.turns ?? []) turn.cancel("the session was closed");
    await hub.terminate(principal, id, { reason: "completed", terminated_by: "daemon", message: reason });
    this.sessions.forget(id);
    offers.forget(id);
  }

  /** The keys of an agent's open persistent sessions, the standing one first. */
  async persistentKeys(principal: Principal, agent: string): Promise<readonly string[]> {
    const { tenant, id } = principal;
    const range = { tenant, principal: id, open: true, mode: "persistent", limit: MAX_PERSISTENT } as const;
    const records = await this.#options.harness.store.query(sessionTables, "list", range);
    const keys = records.filter((record) => agentOf(record) === agent).map(({ key }) => key);
    return [standingKey(agent), ...keys.filter((key) => key !== standingKey(agent))];
  }

  /** The state of a session. */
  async status(principal: Principal, key: string): Promise<SessionState> {
    if (this.#pending.get(principal, key)) return "idle";
    const record = await this.sessions.find(principal, key);
    if (!record) throw notFound(key);
    if (record.ended) return "closed";
    const isCancelled = record.state === "idle" && this.sessions.used(record.id)?.cancelled;
    return isCancelled ? "cancelled" : record.state;
  }

  /** Reopens the session of a key if it was closed. Throws if it belongs to another agent. */
  async #reopen(principal: Principal, record: SessionRecord, params: InitParams): Promise<SessionRecord> {
    const { agent_id, backend, mode } = params;
    const isSame = agentOf(record) === agent_id;
    if (!isSame || (backend !== undefined && backendOf(backend) !== record.agent))
      throw conflict(record.key, agentOf(record), record.agent);
    const { hub } = this.#options;
    // Counts as activity, so that the session is not evicted.
    if (!record.ended) await hub.annotate(record, {});
    return (await hub.reopen(principal, record.id, mode)) ?? record;
  }

  /** When a session was first requested: a pending one keeps the id that its client got. */
  #requestedAt(principal: Principal, { agent_id }: InitParams, key: string): Date {
    const request = this.#pending.get(principal, key)?.request;
    if (request && request.agent_id !== agent_id) throw conflict(key, request.agent_id, request.backend);
    return request?.requested ?? this.#clock.now();
  }

  /** Begins the session if it is not found, and sets its model. Keeps it as pending if its agent is not available. */
  async #open(
    principal: Principal,
    request: SessionRequest,
    found: SessionRecord | undefined,
  ): Promise<{ readonly record: SessionRecord; readonly model: string | undefined }> {
    const { session_key } = request;
    try {
      const record = found ?? (await openSession(this.#options, principal, request));
      const model = await chooseModel(this.#options.hub, principal, record, request.model);
      const pending = this.#pending.get(principal, session_key);
      if (pending) (await this.sessions.use(record)).sequence.follow(pending.sequence);
      this.#pending.forget(principal, session_key);
      return { record, model };
    } catch (error) {
      if (isUnavailable(error)) this.#pending.keep(principal, request);
      throw error;
    }
  }

  #response(principal: Principal, record: SessionRecord, model = storedModel(record)): InitializedSession {
    const agent_id = agentOf(record);
    return {
      session_key: record.key,
      session_id: record.id,
      agent_id,
      trust: claimedTrust(this.#options.harness, principal, agent_id),
      backend: record.agent,
      mode: record.mode,
      model: model ?? null,
    };
  }

  /** The response for a session whose agent is not available. */
  #pendingResponse(principal: Principal, request: SessionRequest): InitializedSession {
    const { agent_id, session_key, backend, mode, model, cwd = "", requested } = request;
    const record = newSessionRecord({
      agent: backend,
      acts_as: agent_id,
      key: session_key,
      principal,
      cwd,
      channel: "ws",
      peer: "",
      created: requested,
    });
    return this.#response(principal, { ...record, mode }, model);
  }

  /** The session of a turn, or the error event if its agent or its model is not available. */
  async #runnable(
    principal: Principal,
    key: string,
  ): Promise<SessionRecord | { readonly fault: NumberedEvent }> {
    const pending = this.#pending.get(principal, key);
    const found = pending && (await this.sessions.find(principal, key));
    if (!pending || found?.ended) return this.sessions.expect(principal, key);
    try {
      const { record } = await this.#open(principal, pending.request, found);
      return record;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const { code, message } = error;
      return { fault: pending.sequence.number({ type: "error", code, message }) };
    }
  }

  /** Whether a session has had no message. */
  async #isFresh({ tenant, id }: SessionRecord): Promise<boolean> {
    const counts = await this.#options.hub.countsOf(tenant, [id]);
    return (counts.get(id) ?? 0) === 0;
  }
}

function isUnavailable(error: unknown): error is HaakError {
  return error instanceof HaakError && error.code === "backend_unavailable";
}

function notFound(key: string): HaakError {
  return new HaakError("session_not_found", `there is no session "${key}"`);
}

function conflict(key: string, agent: string, backend: string): HaakError {
  return new HaakError(
    "session_conflict",
    `the session "${key}" is ${agent}'s, on ${backend}; choose another key`,
  );
}

function agentOf({ acts_as, agent }: SessionRecord): string {
  return acts_as ?? agent;
}

function queueKey({ tenant }: Principal, key: string): string {
  return `${tenant}\n${key}`;
}
