import { CODE, interruptedBy, type JsonObject, membersOf, RpcError, updateIn } from "@reins/acp";
import { raceAbort } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import type { SessionPort } from "../control/ask-clients.ts";
import type { Descent } from "../control/scope.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { HubContext } from "../hub/context.ts";
import { PREAMBLE_HEADING } from "../turn/preamble.ts";
import { SessionClients, type SessionMessage } from "./session-clients.ts";
import type { SessionEnd, SessionRecord } from "./session-record.ts";
import {
  type AcceptedChanges,
  type SessionEffect,
  type SessionEvent,
  type SessionPhase,
  storedPhase,
  transition,
} from "./session-state.ts";

/** A notification of an agent, or of Reins for it, to the clients of a session. */
export const UPDATE = "session/update";
/** Notifies the clients of a session that it has ended. */
const ENDED = "_sandboxagent/session/ended";
/** A message in the log with the id of the entry of a turn that has ended. */
export const TURN_ENDED = "_reins/turn_ended";
/** A message in the log with the entry of a turn, before the ledger has it. */
export const TURN_OVER = "_reins/turn_over";

/** The channel of the log with the ends of a session's turns. */
export function turnsOf(session: string): string {
  return `turns:${session}`;
}

/** Why queued prompts are cancelled: a client closed their session. */
export class SessionClosed extends RpcError {
  constructor() {
    super(CODE.cancelled, "the session was closed");
  }
}

/** How a session ends for good. */
export type Ending = Omit<SessionEnd, "at">;

/**
 * A session that this process serves, and the only owner of its record. Every change of the record or of the phase is a
 * transition of `session-state.ts`; the fields that can be assigned are about the moment, and a restart loses them.
 */
export class Session implements SessionPort {
  readonly hub: HubContext;
  readonly clients: SessionClients;
  readonly queue = new TurnQueue();
  /** The resume or relocation in progress, shared by the requests that wait for it. */
  resumed: Promise<void> | undefined;
  /** Cancels the prompt that waits for its agent to start; undefined while none does. */
  starting: AbortController | undefined;
  /** The connection whose prompt is running. */
  prompting: string | undefined;
  /** Its modes, models and config options: what the agent answered, and what it notified since. */
  settings: JsonObject = {};
  /** The last update of the commands that its agent knows. */
  commands: JsonObject | undefined;
  /** Its limits, where it is a subagent's that goes on after a restart: no agent resumes one without them. */
  descent: Descent | undefined;
  /** Goes before the next prompt to an agent that cannot resume the session by itself. */
  preface: string | undefined;
  /** Settles when the messages of its last turn are written: the response to a prompt comes after them. */
  written: Promise<void> = Promise.resolve();
  /** When it was last used, in milliseconds since 1970. */
  used: number;
  readonly #cut = new AbortController();
  #phase: SessionPhase;
  #record: SessionRecord;
  #agent: HostedAgent | undefined;
  #pending = new AbortController();
  /** What cancelled the pending requests last, and the number up to which. */
  #cancelled: { readonly until: number; readonly reason: Error } | undefined;

  constructor(hub: HubContext, record: SessionRecord, phase: SessionPhase = storedPhase(record)) {
    this.hub = hub;
    this.#record = record;
    this.#phase = phase;
    this.clients = new SessionClients(this, hub);
    this.used = Date.parse(record.last_activity);
  }

  get id(): string {
    return this.#record.id;
  }

  get record(): SessionRecord {
    return this.#record;
  }

  get phase(): SessionPhase {
    return this.#phase;
  }

  /** The agent that has the session; none while one is starting or resuming it. */
  get agent(): HostedAgent | undefined {
    const { phase } = this;
    return phase === "idle" || phase === "running" || phase === "interrupted" ? this.#agent : undefined;
  }

  /** Whether its agent has all that it needs: an idle one is resumed to get the tools of a client that came later. */
  get isReady(): boolean {
    const { id, phase, agent } = this;
    if (!agent) return false;
    const governed = agent.governor.session(id);
    return phase !== "idle" || agent.resumeMethod === undefined || !governed?.lacksLentTools;
  }

  /** Names the agent that starts or resumes the session. */
  assign(agent: HostedAgent): void {
    this.#agent = agent;
  }

  /** Whether an agent has the session, or is starting or resuming it. */
  isWith(agent: HostedAgent): boolean {
    return this.#agent === agent;
  }

  /** Aborts when the requests that are pending now are cancelled, and the agent that is started for them. */
  get pending(): AbortSignal {
    return this.#pending.signal;
  }

  /** Why a request that arrived under a number is cancelled; undefined if it is not. */
  cancelReason(arrival: number): Error | undefined {
    return this.#cancelled && arrival <= this.#cancelled.until ? this.#cancelled.reason : undefined;
  }

  /** Aborts when its turn is cut off because Reins stops. */
  get cutOff(): AbortSignal {
    return this.#cut.signal;
  }

  /** The position of its last message in the log. */
  get lastOrder(): number {
    return this.hub.log.lastOf(this.#record.tenant, this.id);
  }

  /** Whether a prompt, an agent or a question is pending. */
  get isBusy(): boolean {
    const { phase } = this;
    const isStarting = phase === "starting" || phase === "resuming";
    return this.queue.isBusy || isStarting || this.clients.questions.length > 0;
  }

  /** Applies an event at once; settles when its effects are carried out. */
  async apply(event: SessionEvent): Promise<void> {
    const now = this.hub.clock.now().toISOString();
    const { phase, record, effects } = transition({ phase: this.#phase, record: this.#record }, event, now);
    this.#phase = phase;
    this.#record = record;
    if (phase === "parked" || phase === "ended") this.#agent = undefined;
    for (const effect of effects) {
      const performed = this.#perform(effect, event);
      if (performed) await performed;
    }
  }

  async started(changes: AcceptedChanges, entry: Draft): Promise<void> {
    if (this.#phase === "interrupted") throw interruptedBy("Reins is stopping");
    if (this.#phase === "ended") throw noSession(this.id);
    await this.apply({ type: "accepted", changes });
    await this.hub.sessions.put(this.#record, { entry });
    await this.apply({ type: "started" });
  }

  modeSet(agent_mode: string): Promise<void> {
    return this.apply({ type: "annotated", changes: { agent_mode } });
  }

  stopped(entry: Draft): Promise<void> {
    return this.apply({ type: "stopped", entry });
  }

  /** Ends it for good, and notifies its clients. */
  async end(how: Ending): Promise<void> {
    const at = this.hub.clock.now().toISOString();
    await this.apply({ type: "ended", end: { ...how, at } });
  }

  /** Ends it for good, after its agent has closed it. */
  async closeAndEnd(how: Ending): Promise<void> {
    const { agent, id: sessionId } = this;
    const { signal } = new AbortController();
    // Before the turn that runs is over, so that no other begins.
    this.cancelPending(noSession(sessionId));
    const closing = agent?.governor.request("session/close", { sessionId }, { signal });
    await closing?.catch(this.hub.onError);
    await this.end(how);
  }

  /** Withdraws its approvals, also while no agent runs for it. */
  async withdraw(reason: string): Promise<void> {
    const { tenant, id: session } = this.#record;
    await this.hub.harness.approvals.withdraw({ tenant, session }, reason);
  }

  /** Cuts its turn off because Reins stops. */
  cut(reason: Error): void {
    void this.apply({ type: "cut" });
    this.#cut.abort(reason);
  }

  /** Cancels the requests that have arrived, and the agent that is being started for them. */
  cancelPending(reason: Error): void {
    const former = this.#pending;
    this.#pending = new AbortController();
    this.#cancelled = { until: this.hub.arrive(), reason };
    former.abort(reason);
  }

  /** Adds a message to its log. A promise is to be waited for. */
  append(event: SessionMessage): void | Promise<void> {
    const { tenant, id: session } = this.#record;
    return this.hub.log.append({ tenant, session, ...event });
  }

  /** Adds an update to its log, for all clients but one. */
  async update(update: JsonObject, except?: string): Promise<void> {
    await this.append({ message: { method: UPDATE, params: { sessionId: this.id, update } }, except });
  }

  /** Adds a message of its agent to its log, and merges the settings in it; drops it once the turn is cut off. */
  appendFromAgent(event: SessionMessage): void | Promise<void> {
    if (this.#phase === "interrupted") return;
    if (event.message.method === UPDATE) this.#observe(updateIn(event.message.params).update);
    return this.append(event);
  }

  /** Logs the entry of a turn that is over. Settles when it is written. */
  async turnOver(draft: Draft): Promise<void> {
    const { tenant, id } = this.#record;
    const { log } = this.hub;
    const message = { method: TURN_OVER, params: { draft } };
    await log.append({ tenant, session: turnsOf(id), message });
    await log.written();
  }

  /** Merges the settings of an agent's response. */
  learn(result: unknown): void {
    const { modes, models, configOptions } = membersOf(result);
    this.settings = {
      ...this.settings,
      ...(modes !== undefined && { modes }),
      ...(models !== undefined && { models }),
      ...(configOptions !== undefined && { configOptions }),
    };
  }

  /** Merges the settings, the commands or the title of an agent's update. */
  #observe(update: JsonObject): void {
    switch (update.sessionUpdate) {
      case "config_option_update":
        this.learn({ configOptions: update.configOptions });
        return;
      case "current_mode_update":
        this.learn({ modes: { ...membersOf(this.settings.modes), currentModeId: update.currentModeId } });
        return;
      case "available_commands_update":
        this.commands = update;
        return;
      case "session_info_update":
        this.#retitle(update.title);
    }
  }

  #retitle(title: unknown): void {
    if (typeof title !== "string" || title === this.#record.title || !isTitle(title)) return;
    if (this.hub.sessions.get(this.id) === this)
      this.apply({ type: "titled", changes: { title } }).catch(this.hub.onError);
  }

  /** Carries out an effect; what takes time returns a promise. */
  #perform(effect: SessionEffect, event: SessionEvent): Promise<unknown> | undefined {
    const { sessions, harness } = this.hub;
    switch (effect) {
      case "write":
        return sessions.put(this.#record);
      case "write_with_next":
        return sessions.put(this.#record, { relaxed: true });
      case "record":
        return event.type === "stopped" ? harness.record([event.entry], { durable: false }) : undefined;
      case "withdraw":
        return this.withdraw("the session ended");
      case "announce":
        return this.#announce();
      case "notify":
        sessions.notify(this.#record);
        return;
      case "cancel":
        this.cancelPending(event.type === "released" ? new SessionClosed() : noSession(this.id));
        return;
      case "write_later":
        sessions.putLater(this);
        return;
      case "forget":
        sessions.forget(this);
        return;
    }
  }

  async #announce(): Promise<void> {
    const { id, ended } = this.#record;
    if (!ended) return;
    const { reason, terminated_by, message } = ended;
    const data = { reason, terminated_by, ...(message !== undefined && { message }) };
    const params = { session_id: id, sessionId: id, data };
    await this.append({ message: { method: ENDED, params } });
  }
}

/** An agent that names a session after its first prompt may use the preamble for that. */
function isTitle(title: string): boolean {
  return !title.trimStart().startsWith(PREAMBLE_HEADING);
}

/** The error for a session that does not exist, or that the principal may not see. */
export function noSession(id: unknown): RpcError {
  return new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
}

/** The error code of a prompt that is rejected because too many wait. */
export const QUEUE_FULL = -32011;

/** One turn after the other, with a bounded number waiting. */
export class TurnQueue {
  readonly #most: number;
  /** How many run or wait. */
  #count = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(most = 8) {
    this.#most = most;
  }

  /** Whether a turn runs or waits. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Settles when every turn that is in it now is done; never rejects. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Runs a turn after those before it. One that is cancelled earlier never runs. */
  run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#count > this.#most)
      return Promise.reject(
        new RpcError(QUEUE_FULL, `${this.#most} prompts wait already`, { code: "queue_full" }),
      );
    this.#count += 1;
    const before = this.#count === 1 ? undefined : this.#last;
    const run = this.#run(turn, signal, before);
    // One that was cancelled is done before those that it came after.
    this.#last = Promise.all([before, run.catch(() => undefined)]).then(() => undefined);
    return run;
  }

  async #run<Result>(
    turn: () => Promise<Result>,
    signal: AbortSignal,
    before: Promise<unknown> | undefined,
  ): Promise<Result> {
    try {
      if (before) await raceAbort(before, signal);
      signal.throwIfAborted();
      return await turn();
    } finally {
      this.#count -= 1;
    }
  }
}

/** Whether a session belongs to an agent that runs elsewhere and has its steps decided over AHP. */
export function isElsewhere({ key }: Pick<SessionRecord, "key">): boolean {
  return /^[^:]*:ahp:/.test(key);
}
