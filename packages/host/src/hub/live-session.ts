import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { PREAMBLE_HEADING } from "../turn/preamble.ts";
import type { SessionClients } from "./session-clients.ts";
import { TurnQueue } from "./turn-queue.ts";

/** Why prompts in line are not carried out: their session was closed, which cancels them. */
export class SessionClosed extends RpcError {
  constructor() {
    super(CODE.cancelled, "the session was closed");
  }
}

/** A session that this process serves: its clients, its queue, and the agent behind it while one runs. */
export class LiveSession {
  record: SessionRecord;
  readonly clients: SessionClients;
  readonly queue = new TurnQueue();
  /** The agent that knows the session; none after it ended, until the next prompt. */
  agent: HostedAgent | undefined;
  /** An agent that is taking the session up. */
  reviving: Promise<void> | undefined;
  /** Cancels the turn that waits for the agent, while one does. */
  starting: AbortController | undefined;
  /** The connection whose prompt is under way. */
  prompting: string | undefined;
  /** What is known of its modes, its models and its settings: what the agent answered, and what it told since. */
  settings: JsonObject = {};
  /** What its agent told last of the commands it knows. */
  commands: JsonObject | undefined;
  /** What a new agent has to be told before its first prompt, because it cannot take the session up by itself. */
  preface: string | undefined;
  /** Settles when what was said in its last turn is written. */
  said: Promise<void> = Promise.resolve();
  /** When it was last used, in milliseconds since 1970. */
  used: number;
  readonly #lastOrder: () => number;
  readonly #cut = Promise.withResolvers<never>();
  #isCut = false;
  #wanted = new AbortController();

  constructor(record: SessionRecord, clients: SessionClients, lastOrder: () => number) {
    this.record = record;
    this.#lastOrder = lastOrder;
    this.clients = clients;
    this.used = Date.parse(record.last_activity);
    this.#cut.promise.catch(() => undefined);
  }

  /** Whether its turn was cut off because Reins stops: what is kept of it stays as it is. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Rejects when its turn is cut off. */
  get cutOff(): Promise<never> {
    return this.#cut.promise;
  }

  /** Cuts its turn off. */
  cut(reason: Error): void {
    this.#isCut = true;
    this.#cut.reject(reason);
  }

  /** The place of its last message in the log. */
  get lastOrder(): number {
    return this.#lastOrder();
  }

  get id(): string {
    return this.record.id;
  }

  /** Aborts when what was asked of it by now, and has not begun, is not to be done any more. */
  get wanted(): AbortSignal {
    return this.#wanted.signal;
  }

  /** Calls off what was asked of it and has not begun: prompts in line, and the agent that is being started for them. */
  callOff(reason: Error): void {
    const former = this.#wanted;
    this.#wanted = new AbortController();
    former.abort(reason);
  }

  /** Whether somebody waits for it, or it for somebody. */
  get isBusy(): boolean {
    return this.queue.isBusy || this.reviving !== undefined || this.clients.questions.length > 0;
  }

  /** Takes in what an agent answered that tells of settings. */
  learn(result: unknown): void {
    const { modes, models, configOptions } = membersOf(result);
    this.settings = {
      ...this.settings,
      ...(modes !== undefined && { modes }),
      ...(models !== undefined && { models }),
      ...(configOptions !== undefined && { configOptions }),
    };
  }

  /** Takes in an update that tells of settings; gives a title that is new. */
  heed(update: JsonObject): string | undefined {
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

/** An agent that calls a session after its first prompt may take what was put before that for it. */
function isTitle(title: string): boolean {
  return !title.trimStart().startsWith(PREAMBLE_HEADING);
}
