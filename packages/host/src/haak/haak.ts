import { randomUUID } from "node:crypto";
import { type Clock, type Harness, type Principal, systemClock } from "@reins/supervisor";
import type { Catalogue } from "../agents/catalogue.ts";
import type { Hub } from "../hub/hub.ts";
import { newSessionRecord } from "../sessions/new-session.ts";
import type { SessionRecord, SessionState } from "../sessions/session-record.ts";
import { backendOf } from "./backend.ts";
import { derivedKey } from "./derived-key.ts";
import type { Emit } from "./event.ts";
import { HaakError } from "./haak-error.ts";
import { HaakSessions } from "./haak-sessions.ts";
import { HaakTurn } from "./haak-turn.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { PendingSessions } from "./pending-sessions.ts";
import { saidIn } from "./prompt.ts";
import type { InitParams, RunParams } from "./requests.ts";
import { beginSession, chooseModel, keptModel, type SessionWish, trustOf } from "./session-begin.ts";
import type { TurnOffers } from "./turn-offers.ts";

/** What HAAK's sessions stand on. */
export interface HaakOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly catalogue: Catalogue;
  readonly offers: TurnOffers;
  /** Takes secrets out of what is shown. */
  readonly redact: (value: unknown) => unknown;
  /** The folder that sessions work in which name none. */
  readonly workspace: string;
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

/** HAAK's five methods, over the sessions of the hub. */
export class Haak {
  readonly sessions: HaakSessions;
  readonly #options: HaakOptions;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #beginning = new KeyedLock();
  readonly #pending = new PendingSessions();

  constructor(options: HaakOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#newId = options.newId ?? randomUUID;
    this.sessions = new HaakSessions({ ...options, clock: this.#clock });
  }

  /** Begins a session, or finds or opens again the one of its key. */
  async init(principal: Principal, params: InitParams): Promise<InitializedSession> {
    const { agent_id, session_key = derivedKey(agent_id, this.#newId()) } = params;
    return this.#beginning.run(placeOf(principal, session_key), async () => {
      const known = await this.sessions.find(principal, session_key);
      const record = known ? await this.#found(principal, known, params) : undefined;
      return record
        ? this.#tell(principal, record, params)
        : this.#begin(principal, { ...params, session_key });
    });
  }

  /** Runs one turn, or goes on with the one that waits for its client. What comes after it has begun are events. */
  async run(principal: Principal, params: RunParams, emit: Emit): Promise<void> {
    const { session_key, message, messages = message ? [message] : [] } = params;
    // None at all are the agent's own, as when the client says nothing of tools.
    const tools = params.tools?.length ? params.tools : undefined;
    const record = await this.#runnable(principal, session_key, emit);
    if (!record) return;
    const said = saidIn(messages);
    const session = await this.sessions.of(record);
    for (const turn of session.turns) {
      const resumed = turn.resume(said, emit);
      if (resumed) return resumed;
      if (turn.isPaused) turn.cancel("its client went on without carrying out what it was to");
    }
    const isFresh = session.turns.size === 0 && (await this.#isFresh(record));
    const earlier = said.earlier !== undefined && isFresh ? [{ type: "text", text: said.earlier }] : [];
    const prompt = [...earlier, ...said.prompt];
    if (prompt.length === 0 && said.results.length === 0)
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
    await turn.begin(emit, session.queue);
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
    if (this.#pending.forget(principal, key)) return;
    const record = await this.sessions.find(principal, key);
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
    return (await this.#options.hub.reopen(principal, record.id, mode)) ?? record;
  }

  async #begin(
    principal: Principal,
    params: InitParams & { readonly session_key: string },
  ): Promise<InitializedSession> {
    const { agent_id, session_key, mode = "domain", model, cwd } = params;
    const backend = backendOf(params.backend ?? this.#options.backend ?? "native");
    const wish = { agent_id, session_key, backend, mode, model, cwd };
    try {
      return await this.#tell(principal, await beginSession(this.#options, principal, wish), params);
    } catch (error) {
      if (!(error instanceof HaakError) || error.code !== "backend_unavailable") throw error;
      return this.#postpone(principal, wish);
    }
  }

  /** Keeps a session in mind whose agent cannot be had now. */
  #postpone(principal: Principal, wish: SessionWish): InitializedSession {
    const { agent_id, session_key, backend, mode, model } = wish;
    const made = {
      agent: backend,
      acts_as: agent_id,
      key: session_key,
      principal,
      cwd: this.#options.workspace,
    };
    const record = newSessionRecord({ ...made, channel: "ws", peer: "", created: this.#clock.now() });
    this.#pending.keep(principal, wish);
    const trust = trustOf(this.#options.harness, principal, agent_id);
    return { session_key, session_id: record.id, agent_id, trust, backend, mode, model: model ?? null };
  }

  async #tell(
    principal: Principal,
    record: SessionRecord,
    { model }: Pick<InitParams, "model">,
  ): Promise<InitializedSession> {
    const used = await chooseModel(this.#options, principal, record, model);
    const agent_id = record.acts_as ?? record.agent;
    return {
      session_key: record.key,
      session_id: record.id,
      agent_id,
      trust: trustOf(this.#options.harness, principal, agent_id),
      backend: record.agent,
      mode: record.mode,
      model: used ?? keptModel(record) ?? null,
    };
  }

  /** The session that a turn is for; `undefined` after its agent could not be had and that was told. */
  async #runnable(principal: Principal, key: string, emit: Emit): Promise<SessionRecord | undefined> {
    const pending = this.#pending.get(principal, key);
    if (!pending) return this.sessions.expect(principal, key);
    const { wish, sequence } = pending;
    try {
      const record = await beginSession(this.#options, principal, wish);
      this.#pending.forget(principal, key);
      (await this.sessions.of(record)).sequence.follow(sequence);
      await chooseModel(this.#options, principal, record, wish.model);
      return record;
    } catch (error) {
      const { code, message } = HaakError.of(error);
      if (code !== "backend_unavailable") throw error;
      await emit(sequence.number({ type: "error", code, message }));
      return undefined;
    }
  }

  /** Whether nothing was said in a session yet. */
  async #isFresh({ tenant, id }: SessionRecord): Promise<boolean> {
    const counts = await this.#options.hub.countsOf(tenant, [id]);
    return (counts.get(id) ?? 0) === 0;
  }
}

function placeOf({ tenant }: Principal, key: string): string {
  return `${tenant}\n${key}`;
}
