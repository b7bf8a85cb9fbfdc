import { interruptedBy, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { settlesWithin } from "@reins/kit";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Connection } from "./connection.ts";
import type { HubContext } from "./context.ts";
import { endCalls, tellInterrupted } from "./interruption.ts";
import { type LiveSession, SessionClosed } from "./live-session.ts";
import { agentOf } from "./revival.ts";
import type { Ending } from "./served-sessions.ts";
import { TurnHearers } from "./turn-hearers.ts";
import { TURN, TURN_ENDED, turnsOf, UPDATE } from "./turn-marks.ts";

const CANCELLED = { stopReason: "cancelled" };
const ONE_TURN: Ending = { reason: "completed", terminated_by: "daemon", message: "oneshot" };

/** Told how turns end. */
export interface TurnWatcher {
  /** A turn of a session has ended. */
  rests(record: SessionRecord): void;
  /** A turn was cancelled, and its agent goes on with it. */
  overran(agent: HostedAgent, session: LiveSession): void;
}

/** The turns of sessions: one after the other, seen by all who follow, and written down before they are answered. */
export class Turns {
  /** Who wants to hear when turns begin and end. */
  readonly hearers = new TurnHearers();
  readonly #context: HubContext;
  readonly #watcher: TurnWatcher;
  /** What prompts are answered once no turn begins any more. */
  #stopping: Error | undefined;

  constructor(context: HubContext, watcher: TurnWatcher) {
    this.#context = context;
    this.#watcher = watcher;
  }

  /** Answers a prompt when its turn has come and is over. */
  async prompt(
    connection: Connection,
    session: LiveSession,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { wanted } = session;
    if (this.#stopping) throw this.#stopping;
    const result = await session.queue.run(async () => {
      if (wanted.reason instanceof SessionClosed) return CANCELLED;
      wanted.throwIfAborted();
      const answer = await this.#turn(connection, session, params, { signal, wanted }).catch(
        (error: unknown) => {
          if (error instanceof SessionClosed) return CANCELLED;
          throw error;
        },
      );
      // Before the next in line.
      if (session.record.mode === "oneshot") await this.#context.sessions.closeAndEnd(session, ONE_TURN);
      return answer;
    }, signal);
    // The answer comes after everything that was said before it.
    await connection.caughtUp(session.said);
    return result;
  }

  /**
   * Lets no turn begin any more. Those under way may end settlesWithin a time, unless they wait for a person, and are cut off
   * then as if the process had ended: their questions wait on, and the next start tells that they were interrupted.
   */
  async interrupt(graceMs: number): Promise<void> {
    if (this.#stopping) return;
    const reason = interruptedBy("Reins is stopping");
    this.#stopping = reason;
    const { log, onError, sessions } = this.#context;
    for (const session of sessions.all) session.callOff(reason);
    const busy = sessions.all.filter(({ queue }) => queue.isBusy);
    const asking = busy.filter(({ clients }) => clients.questions.length > 0);
    await Promise.all(asking.map((session) => this.#cut(session, reason)));
    if (busy.length > 0) await settlesWithin(Promise.all(busy.map(({ queue }) => queue.settled)), graceMs);
    await Promise.all(busy.map((session) => this.#cut(session, reason)));
    await log.written().catch(onError);
  }

  async #cut(session: LiveSession, reason: Error): Promise<void> {
    if (session.record.state !== "running" || session.isCut) return;
    const cut = () => session.cut(reason);
    await session.agent?.governor.cut(session.id, cut).catch(this.#context.onError);
    cut();
  }

  /** Has a client hear of the turns of a session from now on, beginning with how things stand. */
  hear(connection: Connection, sessionId: string): void {
    const { sessions, onError } = this.#context;
    this.hearers.add(sessionId, connection.id);
    const state = sessions.get(sessionId)?.record.state === "running" ? "running" : "idle";
    const told = connection.tell({ method: TURN, params: { sessionId, state } }, sessionId);
    told?.catch(onError);
  }

  async #turn(
    connection: Connection,
    session: LiveSession,
    params: JsonObject,
    { signal, wanted }: { readonly signal: AbortSignal; readonly wanted: AbortSignal },
  ): Promise<unknown> {
    const { log, clock, sessions, onError } = this.#context;
    if (!session.agent && !(await this.#isStarted(session, signal))) return CANCELLED;
    wanted.throwIfAborted();
    const turn_after = log.last(session.record.tenant);
    const room = this.#tellPrompt(connection, session, params);
    if (room) await room;
    // Another one, if it has died meanwhile.
    const agent = session.agent ?? (await agentOf(this.#context, session, { signal }));
    wanted.throwIfAborted();
    // Not waited for: what is written later comes after it.
    sessions.keep(session, { state: "running", turn_after }).catch(onError);
    this.#tellTurn(session, connection, { state: "running" });
    session.prompting = connection.id;
    const governed = agent.governor.session(session.id);
    const before = governed?.lastTurn;
    let stopReason: unknown;
    try {
      const asked = agent.governor.request("session/prompt", withPreface(session, params), { signal });
      const result = await Promise.race([asked, session.cutOff]);
      stopReason = membersOf(result).stopReason;
      return result;
    } catch (error) {
      const { signal: gone } = agent.governor;
      if (!gone.aborted || session.isCut) throw error;
      await endCalls(this.#context, { ...session.record, turn_after });
      const why = `${RpcError.of(gone.reason).message}.`;
      await tellInterrupted(sessions, session.record, why, connection.id);
      throw error;
    } finally {
      session.prompting = undefined;
      session.used = clock.now().getTime();
      session.said = log.written();
      if (!session.isCut) {
        // Not waited for: how the turn ended is in the log, and what is not done after it is when Reins starts again.
        sessions.change(session, { state: "idle", turn_after: undefined });
        this.#tellTurn(session, connection, { state: "idle", stopReason });
        this.#conclude(session, governed, before).catch(onError);
        if (governed?.overran) this.#watcher.overran(agent, session);
        this.#watcher.rests(session.record);
      }
    }
  }

  /** Has a session's agent started; whether it was before the turn was cancelled. */
  async #isStarted(session: LiveSession, signal: AbortSignal): Promise<boolean> {
    const starting = new AbortController();
    session.starting = starting;
    try {
      await agentOf(this.#context, session, { signal: AbortSignal.any([signal, starting.signal]) });
      return true;
    } catch (error) {
      if (starting.signal.aborted) return false;
      throw error;
    } finally {
      session.starting = undefined;
    }
  }

  /** After the entry of a turn is kept that the session has nothing under way; and in the log which entry it is. */
  async #conclude(
    session: LiveSession,
    governed: GovernedSession | undefined,
    before: string | undefined,
  ): Promise<void> {
    const { sessions, log } = this.#context;
    await governed?.placed;
    sessions.putLater(session);
    await governed?.recorded;
    const { lastTurn: turn } = governed ?? {};
    if (turn === before) return;
    // No client is told of it.
    const { tenant, id } = session.record;
    const message = { method: TURN_ENDED, params: { turn } };
    await log.append({ tenant, session: turnsOf(id), message }, { relaxed: true });
  }

  /** Those who want to hear of it are told that a turn has begun or ended. Whoever prompted knows. */
  #tellTurn(session: LiveSession, { id: except }: Connection, how: JsonObject): void {
    const { id: sessionId, record } = session;
    if (!this.hearers.hasOthers(sessionId, except)) return;
    const { sessions, onError } = this.#context;
    const message = { method: TURN, params: { sessionId, ...how } };
    sessions.append(record, { message, except })?.catch(onError);
  }

  /** The other clients see what was asked. Whoever gave it a name sees it too, and so that its turn has come. */
  #tellPrompt(connection: Connection, session: LiveSession, params: JsonObject): void | Promise<void> {
    const { harness, sessions } = this.#context;
    let room: Promise<void> | undefined;
    const { prompt, _meta } = params;
    const name = membersOf(membersOf(_meta).reins).prompt;
    const isNamed = typeof name === "string";
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
