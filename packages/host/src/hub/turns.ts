import { interruptedBy, type JsonObject, RpcError, readContent, readResult, reinsMeta } from "@reins/acp";
import { raceAbort, settlesWithin } from "@reins/kit";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { TURN, TURN_ENDED, turnsOf, UPDATE } from "./channels.ts";
import type { Connection } from "./connection.ts";
import type { HubContext } from "./context.ts";
import { endCalls, notifyInterrupted } from "./interruption.ts";
import { agentOf } from "./resume.ts";
import { type Session, SessionClosed } from "./session.ts";
import type { Ending } from "./sessions.ts";

const CANCELLED = { stopReason: "cancelled" };
const ONE_TURN: Ending = { reason: "completed", terminated_by: "daemon", message: "oneshot" };

export interface TurnListener {
  /** A turn of a session has ended. */
  turnEnded(record: SessionRecord): void;
  /** A turn was cancelled, and its agent has not ended it. */
  overran(agent: HostedAgent, session: Session): void;
}

/** The turns of sessions: one after the other, visible to all followers, and logged before they are answered. */
export class Turns {
  readonly subscribers = new TurnSubscribers();
  readonly #context: HubContext;
  readonly #listener: TurnListener;
  /** Rejects prompts once no turn may begin any more. */
  #stopping: Error | undefined;

  constructor(context: HubContext, listener: TurnListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** Queues a prompt, and returns its response when its turn is over. */
  async prompt(
    connection: Connection,
    session: Session,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { pending } = session;
    if (this.#stopping) throw this.#stopping;
    const result = await session.queue.run(async () => {
      if (pending.reason instanceof SessionClosed) return CANCELLED;
      pending.throwIfAborted();
      const answer = await this.#turn(connection, session, params, { signal, pending }).catch(
        (error: unknown) => {
          if (error instanceof SessionClosed) return CANCELLED;
          throw error;
        },
      );
      // Before the next in line.
      if (session.record.mode === "oneshot") await this.#context.sessions.closeAndEnd(session, ONE_TURN);
      return answer;
    }, signal);
    // The response comes after everything that was said before it.
    await connection.caughtUp(session.written);
    return result;
  }

  /**
   * Starts no turn any more. Running turns have a grace period, unless they wait for a person, and are cut off then as if
   * the process had ended: their questions stay open, and the next start marks them as interrupted.
   */
  async interrupt(graceMs: number): Promise<void> {
    if (this.#stopping) return;
    const reason = interruptedBy("Reins is stopping");
    this.#stopping = reason;
    const { log, onError, sessions } = this.#context;
    for (const session of sessions.all) session.cancelPending(reason);
    const busy = sessions.all.filter(({ queue }) => queue.isBusy);
    const asking = busy.filter(({ clients }) => clients.questions.length > 0);
    await Promise.all(asking.map((session) => this.#cut(session, reason)));
    if (busy.length > 0) await settlesWithin(Promise.all(busy.map(({ queue }) => queue.settled)), graceMs);
    await Promise.all(busy.map((session) => this.#cut(session, reason)));
    await log.written().catch(onError);
  }

  async #cut(session: Session, reason: Error): Promise<void> {
    if (session.record.state !== "running" || session.phase === "interrupted") return;
    const cut = () => session.cut(reason);
    await session.agent?.governor.cut(session.id, cut).catch(this.#context.onError);
    cut();
  }

  /** Subscribes a client to the turns of a session, beginning with the current state. */
  subscribe(connection: Connection, sessionId: string): void {
    const { sessions, onError } = this.#context;
    this.subscribers.add(sessionId, connection.id);
    const state = sessions.get(sessionId)?.record.state === "running" ? "running" : "idle";
    const sent = connection.send({ method: TURN, params: { sessionId, state } }, sessionId);
    sent?.catch(onError);
  }

  async #turn(
    connection: Connection,
    session: Session,
    params: JsonObject,
    { signal, pending }: { readonly signal: AbortSignal; readonly pending: AbortSignal },
  ): Promise<unknown> {
    const { log, clock, sessions, onError } = this.#context;
    if (!session.agent && !(await this.#isStarted(session, signal))) return CANCELLED;
    pending.throwIfAborted();
    const turn_after = log.last(session.record.tenant);
    const room = this.#showPrompt(connection, session, params);
    if (room) await room;
    // Another one, if it has died meanwhile.
    let { agent } = session;
    while (!agent) {
      await agentOf(this.#context, session, { signal });
      ({ agent } = session);
    }
    pending.throwIfAborted();
    // Not waited for: what is written later comes after it.
    session.apply({ type: "prompted", turn_after }).catch(onError);
    this.#notifyTurn(session, connection, { state: "running" });
    session.prompting = connection.id;
    const governed = agent.governor.session(session.id);
    const before = governed?.lastTurn;
    let stopReason: unknown;
    try {
      const asked = agent.governor.request("session/prompt", withPreface(session, params), { signal });
      const result = await raceAbort(asked, session.cutOff);
      stopReason = readResult("session/prompt", result).stopReason;
      return result;
    } catch (error) {
      const { signal: gone } = agent.governor;
      if (!gone.aborted || session.phase === "interrupted") throw error;
      await endCalls(this.#context, { ...session.record, turn_after });
      const why = `${RpcError.of(gone.reason).message}.`;
      await notifyInterrupted(sessions, session.record, why, connection.id);
      throw error;
    } finally {
      session.prompting = undefined;
      session.used = clock.now().getTime();
      session.written = log.written();
      if (session.phase !== "interrupted") {
        // Not waited for: the log has how the turn ended, and the next start does what is missing after it.
        session.apply({ type: "turn_ended" }).catch(onError);
        this.#notifyTurn(session, connection, { state: "idle", stopReason });
        this.#conclude(session, governed, before).catch(onError);
        if (governed?.overran) this.#listener.overran(agent, session);
        this.#listener.turnEnded(session.record);
      }
    }
  }

  /** Starts the agent of a session; returns false if the turn was cancelled meanwhile. */
  async #isStarted(session: Session, signal: AbortSignal): Promise<boolean> {
    const waiting = new AbortController();
    session.waiting = waiting;
    try {
      await agentOf(this.#context, session, { signal: AbortSignal.any([signal, waiting.signal]) });
      return true;
    } catch (error) {
      if (waiting.signal.aborted) return false;
      throw error;
    } finally {
      session.waiting = undefined;
    }
  }

  /** Stores that the turn is over after its entry has its position in the ledger; then logs which entry it is. */
  async #conclude(
    session: Session,
    governed: GovernedSession | undefined,
    before: string | undefined,
  ): Promise<void> {
    const { log } = this.#context;
    await governed?.placed;
    await session.apply({ type: "turn_recorded" });
    await governed?.recorded;
    const { lastTurn: turn } = governed ?? {};
    if (turn === before) return;
    // Not for clients.
    const { tenant, id } = session.record;
    const message = { method: TURN_ENDED, params: { turn } };
    await log.append({ tenant, session: turnsOf(id), message }, { relaxed: true });
  }

  /** Notifies the other subscribers that a turn has begun or ended. */
  #notifyTurn(session: Session, { id: except }: Connection, how: JsonObject): void {
    const { id: sessionId, record } = session;
    if (!this.subscribers.hasOthers(sessionId, except)) return;
    const { sessions, onError } = this.#context;
    const message = { method: TURN, params: { sessionId, ...how } };
    sessions.append(record, { message, except })?.catch(onError);
  }

  /** Shows a prompt to the other clients; one with an id also to its own, so that it knows that its turn has begun. */
  #showPrompt(connection: Connection, session: Session, params: JsonObject): void | Promise<void> {
    const { harness, sessions } = this.#context;
    let room: Promise<void> | undefined;
    const { prompt } = params;
    const { prompt: name } = reinsMeta(params);
    const isNamed = name !== undefined;
    for (const content of Array.isArray(prompt) ? prompt : []) {
      if (isForAgentAlone(content)) continue;
      const update = {
        sessionUpdate: "user_message_chunk",
        content: harness.redact(content),
        ...(isNamed && { _meta: { reins: { prompt: name } } }),
      };
      const message = { method: UPDATE, params: { sessionId: session.id, update } };
      const except = isNamed ? undefined : connection.id;
      room = sessions.append(session.record, { message, except }) ?? room;
    }
    return room;
  }
}

/** Whether a block of a prompt is annotated as not for people. */
function isForAgentAlone(content: unknown): boolean {
  const { audience } = readContent(content).annotations;
  return audience.length > 0 && !audience.includes("user");
}

/** A prompt with the conversation before it, for a new agent. */
function withPreface(session: Session, params: JsonObject): JsonObject {
  const { preface } = session;
  if (preface === undefined || !Array.isArray(params.prompt)) return params;
  session.preface = undefined;
  return { ...params, prompt: [{ type: "text", text: preface }, ...params.prompt] };
}

/** The connections that subscribe to the turns of each session that they follow. */
export class TurnSubscribers {
  readonly #connections = new Map<string, Set<string>>();

  add(session: string, connection: string): void {
    const all = this.#connections.get(session) ?? new Set();
    all.add(connection);
    this.#connections.set(session, all);
  }

  remove(session: string, connection: string): void {
    const all = this.#connections.get(session);
    all?.delete(connection);
    if (all?.size === 0) this.#connections.delete(session);
  }

  /** Whether a session has a subscriber beside one connection. */
  hasOthers(session: string, connection: string): boolean {
    const all = this.#connections.get(session);
    if (!all) return false;
    return all.size > 1 || !all.has(connection);
  }
}
