import { interruptedBy, type JsonObject, RpcError, readContent, readResult, reinsMeta } from "@reins/acp";
import { raceAbort, settlesWithin } from "@reins/kit";
import type { GovernedSession } from "../governor/governed-session.ts";
import {
  type Ending,
  type Session,
  SessionClosed,
  TURN_ENDED,
  turnsOf,
  UPDATE,
} from "../sessions/session.ts";
import type { Connection } from "./connection.ts";
import type { HubContext } from "./context.ts";
import { TURN } from "./feed.ts";
import { endCalls, notifyInterrupted } from "./interruption.ts";
import { retireAgent } from "./reaper.ts";
import { agentOf } from "./resume.ts";

const CANCELLED = { stopReason: "cancelled" };
const ONE_TURN: Ending = { reason: "completed", terminated_by: "daemon", message: "oneshot" };

/** A prompt of a client. */
interface Prompt {
  readonly connection: Connection;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The number under which it arrived: what cancelled the session's requests since then cancels it too. */
  readonly arrival: number;
}

/** The turns of sessions: one after the other, visible to all followers, and logged before they are answered. */
export class Turns {
  readonly #hub: HubContext;
  /** The connections that subscribe to the turns of each session that they follow. */
  readonly #subscribers = new Map<string, Set<string>>();
  /** Rejects prompts once no turn may begin any more. */
  #stopping: Error | undefined;

  constructor(hub: HubContext) {
    this.#hub = hub;
  }

  /** Queues a prompt, and returns its response when its turn is over. */
  async prompt(session: Session, prompt: Prompt): Promise<unknown> {
    const { connection, signal, arrival } = prompt;
    if (this.#stopping) throw this.#stopping;
    if (this.#hub.harness.store.node) this.#hub.tenants.expectStaying(session.record.tenant);
    const steered = reinsMeta(prompt.params).steer ? await this.#steer(session, prompt) : undefined;
    if (steered) return steered;
    const result = await session.queue.run(async () => {
      if (session.cancelReason(arrival) instanceof SessionClosed) return CANCELLED;
      expectPending(session, arrival);
      const answer = await this.#turn(session, prompt).catch((error: unknown) => {
        if (error instanceof SessionClosed) return CANCELLED;
        throw error;
      });
      // Before the next in line.
      if (session.record.mode === "oneshot") await session.closeAndEnd(ONE_TURN);
      return answer;
    }, signal);
    // The response comes after every message before it.
    await connection.caughtUp(session);
    return result;
  }

  /** Has the turn under way take a prompt; with nothing where it waits for a turn of its own. */
  async #steer(session: Session, { connection, params, signal }: Prompt): Promise<JsonObject | undefined> {
    if (session.phase !== "running" || !session.agent) return undefined;
    // It begins no turn, which its mark says; its own client sees by it that it was taken.
    const onTaken = () => void this.#show(session, params, { mark: { steer: true } });
    const { user: by } = connection.principal;
    const answer = await session.agent.governor.steer(session.id, params, { signal, by, onTaken });
    if (answer) await connection.caughtUp(session);
    return answer;
  }

  /**
   * Starts no turn any more. Running turns have a grace period, unless they wait for a person, and are cut off then as if
   * the process had ended: their questions stay open, and the next start marks them as interrupted.
   */
  async interrupt(graceMs: number): Promise<void> {
    if (this.#stopping) return;
    const reason = interruptedBy("Reins is stopping");
    this.#stopping = reason;
    const { log, onError, sessions } = this.#hub;
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
    await session.agent?.governor.cut(session.id, cut).catch(this.#hub.onError);
    cut();
  }

  /** Subscribes a client to the turns of a session, beginning with the current state. */
  subscribe(connection: Connection, sessionId: string): void {
    const subscribers = this.#subscribers.get(sessionId) ?? new Set();
    this.#subscribers.set(sessionId, subscribers.add(connection.id));
    const { sessions, onError } = this.#hub;
    const state = sessions.get(sessionId)?.record.state === "running" ? "running" : "idle";
    connection.send({ method: TURN, params: { sessionId, state } }, sessionId).catch(onError);
  }

  unsubscribe(connection: string, session: string): void {
    const subscribers = this.#subscribers.get(session);
    subscribers?.delete(connection);
    if (subscribers?.size === 0) this.#subscribers.delete(session);
  }

  async #turn(session: Session, { connection, params, signal, arrival }: Prompt): Promise<unknown> {
    const { log, clock, homes, idleScheduler, onError } = this.#hub;
    if (!session.isReady && !(await isStarted(session, signal))) return CANCELLED;
    expectPending(session, arrival);
    const turn_after = log.last(session.record.tenant);
    const room = this.#showPrompt(connection, session, params);
    if (room) await room;
    // Another one, if it has died meanwhile.
    let { agent } = session;
    while (!agent) {
      await agentOf(session, { signal });
      ({ agent } = session);
    }
    expectPending(session, arrival);
    // Not waited for: what is written later comes after it.
    session.apply({ type: "prompted", turn_after, homes }).catch(onError);
    this.#notifyTurn(session, connection, { state: "running" });
    session.prompting = connection.id;
    const governed = agent.governor.session(session.id);
    const before = governed?.lastTurn;
    let stopReason: unknown;
    try {
      const { user: by } = connection.principal;
      const call = { signal, by };
      const asked = agent.governor.request("session/prompt", withPreface(session, params), call);
      const result = await raceAbort(asked, session.cutOff);
      stopReason = readResult("session/prompt", result).stopReason;
      return result;
    } catch (error) {
      const { signal: gone } = agent.governor;
      if (!gone.aborted || session.phase === "interrupted") throw error;
      await endCalls(session, turn_after);
      await notifyInterrupted(session, `${RpcError.of(gone.reason).message}.`, connection.id);
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
        if (governed?.overran) retireAgent(session, agent);
        if (session.record.daemon) idleScheduler?.turnEnded(session.record);
      }
    }
  }

  /** Stores that the turn is over after its entry has its position in the ledger; then logs which entry it is. */
  async #conclude(
    session: Session,
    governed: GovernedSession | undefined,
    before: string | undefined,
  ): Promise<void> {
    const { log } = this.#hub;
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
    const subscribers = this.#subscribers.get(session.id);
    if (!subscribers || (subscribers.size === 1 && subscribers.has(except))) return;
    const message = { method: TURN, params: { sessionId: session.id, ...how } };
    session.append({ message, except })?.catch(this.#hub.onError);
  }

  /** Shows a prompt to the other clients; one with an id also to its own, so that it knows that its turn has begun. */
  #showPrompt(connection: Connection, session: Session, params: JsonObject): Promise<void> | undefined {
    const { prompt: name } = reinsMeta(params);
    const isNamed = name !== undefined;
    const except = isNamed ? undefined : connection.id;
    return this.#show(session, params, { except, ...(isNamed && { mark: { prompt: name } }) });
  }

  /** Shows the blocks of a prompt, with a mark of ours. */
  #show(
    session: Session,
    { prompt }: JsonObject,
    { except, mark }: { readonly except?: string | undefined; readonly mark?: JsonObject },
  ): Promise<void> | undefined {
    let room: Promise<void> | undefined;
    for (const content of Array.isArray(prompt) ? prompt : []) {
      if (isForAgentAlone(content)) continue;
      const update = {
        sessionUpdate: "user_message_chunk",
        content: this.#hub.harness.redact(content),
        ...(mark && { _meta: { reins: mark } }),
      };
      const message = { method: UPDATE, params: { sessionId: session.id, update } };
      room = session.append({ message, except }) ?? room;
    }
    return room;
  }
}

/** Throws if a prompt was cancelled since it arrived. */
function expectPending(session: Session, arrival: number): void {
  const cancelled = session.cancelReason(arrival);
  if (cancelled) throw cancelled;
}

/** Starts the agent of a session; returns false if the prompt was cancelled meanwhile. */
async function isStarted(session: Session, signal: AbortSignal): Promise<boolean> {
  const starting = new AbortController();
  session.starting = starting;
  try {
    await agentOf(session, { signal: AbortSignal.any([signal, starting.signal]) });
    return true;
  } catch (error) {
    if (starting.signal.aborted) return false;
    throw error;
  } finally {
    session.starting = undefined;
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
