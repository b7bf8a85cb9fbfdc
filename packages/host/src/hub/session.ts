import { CODE, interruptedBy, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { raceAbort } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import type { SessionPort } from "../control/ask-clients.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { SessionRecords } from "../sessions/session-records.ts";
import {
  type AcceptedChanges,
  type SessionEffect,
  type SessionEvent,
  type SessionPhase,
  storedPhase,
  transition,
} from "../sessions/session-state.ts";
import { PREAMBLE_HEADING } from "../turn/preamble.ts";
import type { SessionClients } from "./session-clients.ts";

/** Why queued prompts are cancelled: a client closed their session. */
export class SessionClosed extends RpcError {
  constructor() {
    super(CODE.cancelled, "the session was closed");
  }
}

export interface SessionOptions {
  readonly clients: SessionClients;
  readonly store: Pick<SessionRecords, "put">;
  readonly now: () => Date;
  /** The position of its last message in the log. */
  readonly lastOrder: () => number;
  /** Carries out the effects of a transition, in order. */
  readonly perform: (
    session: Session,
    effects: readonly SessionEffect[],
    event: SessionEvent,
  ) => Promise<void>;
}

/** A session that this process serves, and the only owner of its record: every change of it is a transition. */
export class Session implements SessionPort {
  readonly clients: SessionClients;
  readonly queue = new TurnQueue();
  /** Settles when the agent that is being started has resumed the session, or has not. */
  resumed: Promise<void> | undefined;
  /** Cancels the turn that waits for the agent, while one does. */
  waiting: AbortController | undefined;
  /** The connection whose prompt is running. */
  prompting: string | undefined;
  /** Its modes, models and config options: what the agent answered, and what it notified since. */
  settings: JsonObject = {};
  /** The last update of the commands that its agent knows. */
  commands: JsonObject | undefined;
  /** Goes before the next prompt to an agent that cannot resume the session by itself. */
  preface: string | undefined;
  /** Settles when the messages of its last turn are written. */
  written: Promise<void> = Promise.resolve();
  /** When it was last used, in milliseconds since 1970. */
  used: number;
  readonly #options: SessionOptions;
  readonly #cut = new AbortController();
  #phase: SessionPhase;
  #record: SessionRecord;
  #agent: HostedAgent | undefined;
  #pending = new AbortController();

  constructor(record: SessionRecord, options: SessionOptions, phase: SessionPhase = storedPhase(record)) {
    this.#record = record;
    this.#phase = phase;
    this.#options = options;
    this.clients = options.clients;
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

  /** Names the agent that starts or resumes the session. */
  assign(agent: HostedAgent): void {
    this.#agent = agent;
  }

  /** Whether an agent has the session, or is starting or resuming it. */
  isWith(agent: HostedAgent): boolean {
    return this.#agent === agent;
  }

  /** Aborts when prompts that are queued now, and the agent that is started for them, are cancelled. */
  get pending(): AbortSignal {
    return this.#pending.signal;
  }

  /** Aborts when its turn is cut off because Reins stops. */
  get cutOff(): AbortSignal {
    return this.#cut.signal;
  }

  /** The position of its last message in the log. */
  get lastOrder(): number {
    return this.#options.lastOrder();
  }

  /** Whether a prompt, an agent or a question is pending. */
  get isBusy(): boolean {
    const { phase } = this;
    const isStarting = phase === "starting" || phase === "resuming";
    return this.queue.isBusy || isStarting || this.clients.questions.length > 0;
  }

  /** Applies an event at once; settles when its effects are carried out. */
  async apply(event: SessionEvent): Promise<void> {
    const { phase, record, effects } = transition(
      { phase: this.#phase, record: this.#record },
      event,
      this.#options.now().toISOString(),
    );
    this.#phase = phase;
    this.#record = record;
    if (phase === "parked" || phase === "ended") this.#agent = undefined;
    await this.#options.perform(this, effects, event);
  }

  async started(changes: AcceptedChanges, entry: Draft): Promise<void> {
    if (this.#phase === "interrupted") throw interruptedBy("Reins is stopping");
    if (this.#phase === "ended") throw noSession(this.id);
    await this.apply({ type: "accepted", changes });
    await this.#options.store.put(this.#record, entry);
    await this.apply({ type: "started" });
  }

  /** Cuts its turn off because Reins stops. */
  cut(reason: Error): void {
    void this.apply({ type: "cut" });
    this.#cut.abort(reason);
  }

  /** Cancels queued prompts, and the agent that is being started for them. */
  cancelPending(reason: Error): void {
    const former = this.#pending;
    this.#pending = new AbortController();
    former.abort(reason);
  }

  /** Takes the settings from an agent's response. */
  learn(result: unknown): void {
    const { modes, models, configOptions } = membersOf(result);
    this.settings = {
      ...this.settings,
      ...(modes !== undefined && { modes }),
      ...(models !== undefined && { models }),
      ...(configOptions !== undefined && { configOptions }),
    };
  }

  /** Takes the settings from an update; returns a title that is new. */
  observe(update: JsonObject): string | undefined {
    switch (update.sessionUpdate) {
      case "config_option_update":
        this.learn({ configOptions: update.configOptions });
        return undefined;
      case "current_mode_update":
        this.learn({ modes: { ...membersOf(this.settings.modes), currentModeId: update.currentModeId } });
        return undefined;
      case "available_commands_update":
        this.commands = update;
        return undefined;
      case "session_info_update":
        return typeof update.title === "string" && update.title !== this.record.title && isTitle(update.title)
          ? update.title
          : undefined;
      default:
        return undefined;
    }
  }
}

/** An agent that names a session after its first prompt may take the preamble for it. */
function isTitle(title: string): boolean {
  return !title.trimStart().startsWith(PREAMBLE_HEADING);
}

/** The error for a session that does not exist, or that the principal may not see. */
export function noSession(id: unknown): RpcError {
  return new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
}

/** The code of an answer that says that too many prompts wait already. */
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

  /** Settles when everything that was put into it by now is done; never rejects. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Runs something when everything before it is done. One that is taken back before that waits no longer, and never runs. */
  run<Result>(turn: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#count > this.#most)
      return Promise.reject(
        new RpcError(QUEUE_FULL, `${this.#most} prompts wait already`, { code: "queue_full" }),
      );
    this.#count += 1;
    const before = this.#count === 1 ? undefined : this.#last;
    const run = this.#run(turn, signal, before);
    // One that was taken back is done before those that it came after.
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
