import type {
  ControlPort,
  ReportEvents,
  ReportEventType,
  RunLifecyclePayload,
} from "../control/control-port.ts";
import type { DecisionEvents, DecisionEventType } from "../control/events.ts";
import { type HistoryEntry, type TokenUsage, textOf, type UserPart } from "../history/entry.ts";
import { type Message, transcriptOf } from "../history/transcript.ts";
import type { Model, ThoughtLevel } from "../models/model.ts";
import { addUsage, costOf, NO_USAGE, tokensIn, tokensOfAll, totalOf } from "../models/tokens.ts";
import type { Clock } from "../ports/clock.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import type { ModelQueue } from "./ask-model.ts";
import type { Draft } from "./draft.ts";
import type { PermissionGate, TurnEvent } from "./turn-event.ts";

/** What the turns of a session stand on. */
export interface TurnSetting {
  readonly sessionId: string;
  readonly model: Model;
  readonly thoughtLevel: ThoughtLevel;
  readonly mode: string;
  /** What comes before every conversation. */
  readonly system: string;
  /** The tools that the session may use. */
  readonly tools: readonly Tool[];
  readonly toolContext: Omit<ToolContext, "signal" | "onWorker">;
  readonly control: ControlPort;
  readonly gate: PermissionGate;
  readonly queue: ModelQueue;
  readonly limits: TurnLimits;
  readonly clock: Clock;
  /** From 0 to 1, so that not everybody tries again at the same moment. */
  readonly random: () => number;
  readonly newId: () => string;
  /** The history, as far as it is kept. */
  readonly entries: readonly HistoryEntry[];
  /** Keeps an entry; it is in `entries` when this settles. */
  readonly keep: (entry: HistoryEntry) => Promise<void>;
  /** Shows clients what happens. */
  readonly emit: (event: TurnEvent) => Promise<void>;
  /** Told of what should not happen, and does not stop the turn. */
  readonly onFault: (fault: unknown) => void;
}

/** One prompt and everything until it is answered. */
export class Turn {
  readonly id: string;
  readonly setting: TurnSetting;
  readonly signal: AbortSignal;
  readonly startedAt: string;
  /** What the person said. */
  prompt: readonly UserPart[];
  /** How much the model is to think in this turn. */
  thoughtLevel: ThoughtLevel;
  usage: TokenUsage = NO_USAGE;
  /** What the model is saying, until it is kept. */
  draft: Draft | undefined;
  #status: RunLifecyclePayload["status"] | undefined;

  constructor(setting: TurnSetting, prompt: readonly UserPart[], signal: AbortSignal) {
    this.id = setting.newId();
    this.setting = setting;
    this.prompt = prompt;
    this.signal = signal;
    this.thoughtLevel = setting.thoughtLevel;
    this.startedAt = this.now();
  }

  now(): string {
    return this.setting.clock.now().toISOString();
  }

  /** The conversation as it stands. */
  get messages(): readonly Message[] {
    return transcriptOf(this.setting.entries);
  }

  /** What the person said, in words. */
  get words(): string {
    return this.prompt
      .flatMap((part) => (part.type === "text" && part.context !== true ? [part.text] : []))
      .join("\n");
  }

  /** What stands beside the prompts of the conversation, in words. */
  get context(): string {
    const parts = this.messages.flatMap((message) => (message.role === "user" ? message.parts : []));
    return textOf(parts.filter((part) => part.type === "text" && part.context === true));
  }

  /** What every entry of the turn has in common. */
  get mark(): { readonly turn: string; readonly at: string } {
    return { turn: this.id, at: this.now() };
  }

  /** Puts other words in the place of the person's; images and what the harness added stay. */
  replaceWords(words: string): void {
    const others = this.prompt.filter((part) => part.type !== "text" || part.context === true);
    this.prompt = [...others, { type: "text", text: words }];
  }

  /** Counts what a request to the model used, towards the turn and towards limits. */
  async charge(usage: TokenUsage): Promise<void> {
    const { model, control, sessionId } = this.setting;
    const { price } = model.info;
    const priced = price === undefined ? usage : { ...usage, cost: costOf(usage, price) };
    this.usage = addUsage(this.usage, priced);
    const { cost } = priced;
    await control.charge({ tokens: totalOf(usage), ...(cost !== undefined && { cost }) }, { sessionId });
  }

  /** What the session has cost so far; `undefined` where the price of its models is not known. */
  get cost(): number | undefined {
    const ended = this.setting.entries.flatMap((entry) => (entry.kind === "end" ? [entry.usage] : []));
    return [...ended, this.usage].reduce(addUsage, NO_USAGE).cost;
  }

  /** Asks the supervisor. */
  ask<Type extends DecisionEventType>(
    type: Type,
    payload: DecisionEvents[Type]["payload"],
  ): Promise<DecisionEvents[Type]["decision"]> {
    const { control, sessionId } = this.setting;
    return control.ask(type, payload, { sessionId, signal: this.signal });
  }

  /** Tells the supervisor. */
  report<Type extends ReportEventType>(type: Type, payload: ReportEvents[Type]): void {
    const { control, sessionId } = this.setting;
    control.report(type, payload, { sessionId });
  }

  /** Tells where the run stands, once for each change. */
  setStatus(status: RunLifecyclePayload["status"], more: Partial<RunLifecyclePayload> = {}): void {
    if (this.#status === status) return;
    this.#status = status;
    this.report("run_lifecycle", {
      run_id: this.id,
      session_id: this.setting.sessionId,
      status,
      started_at: this.startedAt,
      updated_at: this.now(),
      ...more,
    });
  }
}

/** How far one turn may go. */
export interface TurnLimits {
  /** Requests to the model. */
  readonly requests: number;
  /** After how many requests somebody is asked whether to go on. */
  readonly confirmEvery: number;
  /** Times that a request which failed is made again. */
  readonly retries: number;
  /** Characters that the model may say or think at once. */
  readonly answerCharacters: number;
  /** Calls that the model may make at once. */
  readonly callsAtOnce: number;
  /** Characters of a result that the model is told, and clients are shown. */
  readonly resultCharacters: number;
  /** How long a model may be silent in the middle of an answer. */
  readonly quietMs: number;
  /** The first wait before a request is made again; each further one is twice as long. */
  readonly backoffMs: number;
  /** The longest wait that a model may ask for, unless the supervisor says otherwise. */
  readonly longestWaitMs: number;
  /** How long a session is left alone before anything is done for it in the background. */
  readonly idleMs: number;
}

/** As far as a person in front of it will want it to go. */
export const TURN_LIMITS: TurnLimits = {
  requests: 100,
  confirmEvery: 50,
  retries: 4,
  answerCharacters: 1 << 20,
  callsAtOnce: 32,
  resultCharacters: 64 * 1024,
  quietMs: 120_000,
  backoffMs: 500,
  longestWaitMs: 60_000,
  idleMs: 30_000,
};

/** How many tokens a conversation has, roughly, with what goes before it. */
export function contextTokens({ messages, setting }: Turn): number {
  const { system, tools } = setting;
  const described = JSON.stringify(tools.map(({ parameters, description }) => [parameters, description]));
  return tokensIn(system) + tokensIn(described) + tokensOfAll(messages);
}
