import { dirname, isAbsolute } from "node:path";
import { type Clock, type KeyedQueue, sleep } from "@reins/kit";
import type { ControlPort } from "../agent-dependencies.ts";
import type { DecisionEvents, DecisionEventType, ReportEvents, ReportEventType } from "../control/events.ts";
import {
  type HistoryEntry,
  type Message,
  partsText,
  type TokenUsage,
  transcriptOf,
  type UserPart,
} from "../history/entry.ts";
import type { Model, ThoughtLevel, ToolDefinition } from "../models/model.ts";
import { addUsage, costOf, NO_USAGE, tokensIn, tokensOfAll, totalOf } from "../models/tokens.ts";
import type { SessionSkills } from "../skills/session-skills.ts";
import type { ProtocolService } from "../tools/host-services.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { type DeferredTools, type ToolSearchUpdate, toolSearchUpdate } from "../tools/tool-search.ts";
import type { Draft } from "./draft.ts";
import type { AskPermission, TurnEvent } from "./turn-event.ts";

/** The dependencies of a session's turns. */
export interface TurnSetting {
  readonly sessionId: string;
  readonly model: Model;
  /** The models that are asked, in this order, when this one cannot be used. */
  readonly fallbacks?: readonly Model[];
  readonly thoughtLevel: ThoughtLevel;
  readonly mode: string;
  /** The system prompt. */
  readonly system: string;
  /** The tools that the session may use. */
  readonly tools: readonly Tool[];
  /** Keeps most of the tools out of the prompt; all are in it if absent. */
  readonly deferred?: DeferredTools | undefined;
  readonly toolContext: Omit<ToolContext, "signal" | "toolCallId" | "onWorker" | "onOutput" | "onSearch">;
  /** The skills of the session. */
  readonly skills?: SessionSkills | undefined;
  /** What was shown as wrong before in the session. */
  readonly faults: Set<string>;
  /** Carries out what the model declares, in the mode `protocol`. */
  readonly protocol?: ProtocolService | undefined;
  readonly control: ControlPort;
  readonly askPermission: AskPermission;
  readonly queue: KeyedQueue;
  /** Takes the prompts that were sent into the turn. */
  readonly takeSteering: () => readonly (readonly UserPart[])[];
  readonly limits: TurnLimits;
  readonly clock: Clock;
  /** A number from 0 to 1 that spreads retries. */
  readonly random: () => number;
  readonly newId: () => string;
  /** The history so far. */
  readonly entries: readonly HistoryEntry[];
  /** Appends an entry; it is in `entries` when this resolves. */
  readonly keep: (...entries: readonly HistoryEntry[]) => Promise<void>;
  /** Sends an event to clients. */
  readonly emit: (event: TurnEvent) => Promise<void>;
  /** Reports an unexpected error that does not stop the turn. */
  readonly onFault: (fault: unknown) => void;
}

/** What a model that declares action graphs is shown. */
export interface DeclaringView {
  /** With how to use the protocol. */
  readonly system: string;
  /** One message: the transcript. */
  readonly messages: readonly Message[];
  /** One tool: the carrier. */
  readonly tools: readonly ToolDefinition[];
  /** What is new since the last request. */
  readonly news: string;
}

/** One prompt and the work until its end. */
export class Turn {
  readonly id: string;
  readonly setting: TurnSetting;
  readonly signal: AbortSignal;
  readonly startedAt: string;
  prompt: readonly UserPart[];
  /** The model that is asked. */
  model: Model;
  thoughtLevel: ThoughtLevel;
  usage: TokenUsage = NO_USAGE;
  /** The number of the request to the model that is made, from 1. */
  request = 1;
  /** The answer in progress, until it is recorded. */
  draft: Draft | undefined;
  /** What a model that declares action graphs is shown instead of the conversation and the tools. */
  declaring: DeclaringView | undefined;
  /** The instructions of the skills in use, for a model that declares. */
  instructions = "";
  #status: ReportEvents["run_lifecycle"]["status"] | undefined;
  /** The real folders in which calls have used files, and whether they were taken. */
  readonly #used = new Map<string, boolean>();

  constructor(setting: TurnSetting, prompt: readonly UserPart[], signal: AbortSignal) {
    this.id = setting.newId();
    this.setting = setting;
    this.model = setting.model;
    this.prompt = prompt;
    this.signal = signal;
    this.thoughtLevel = setting.thoughtLevel;
    this.startedAt = this.now();
  }

  now(): string {
    return this.setting.clock.now().toISOString();
  }

  /** What the model is shown: the conversation so far, or the transcript of the runtime. */
  get messages(): readonly Message[] {
    return this.declaring?.messages ?? transcriptOf(this.setting.entries);
  }

  /** The system prompt of its requests. */
  get system(): string {
    return this.declaring?.system ?? this.setting.system;
  }

  /** The tools that the model is offered. */
  get tools(): readonly ToolDefinition[] {
    return this.declaring?.tools ?? this.setting.deferred?.offered() ?? this.scopedTools;
  }

  /** The tools that the skills in use leave. */
  get scopedTools(): readonly Tool[] {
    const { tools, skills } = this.setting;
    return skills?.scope(tools) ?? tools;
  }

  /** The user's words, without added context. */
  get words(): string {
    return this.prompt
      .flatMap((part) => (part.type === "text" && part.context !== true ? [part.text] : []))
      .join("\n");
  }

  /** The context that accompanied the prompts of the conversation. */
  get context(): string {
    const parts = this.messages.flatMap((message) => (message.role === "user" ? message.parts : []));
    return partsText(parts.filter((part) => part.type === "text" && part.context === true));
  }

  /** The members that all entries of the turn share. */
  get mark(): { readonly turn: string; readonly at: string } {
    return { turn: this.id, at: this.now() };
  }

  /** Replaces the user's words; images and added context stay. */
  replaceWords(words: string): void {
    const others = this.prompt.filter((part) => part.type !== "text" || part.context === true);
    this.prompt = [...others, { type: "text", text: words }];
  }

  /** Charges the usage of a request to the turn and to limits. */
  async charge(usage: TokenUsage): Promise<void> {
    const { control, sessionId } = this.setting;
    const { price } = this.model.info;
    const priced = price === undefined ? usage : { ...usage, cost: costOf(usage, price) };
    this.usage = addUsage(this.usage, priced);
    const { cost } = priced;
    const charged = { tokens: totalOf(usage), kinds: usage };
    await control.charge({ ...charged, ...(cost !== undefined && { cost }) }, { sessionId });
  }

  /** The cost of the session; `undefined` when the price of its models is unknown. */
  get cost(): number | undefined {
    const ended = this.setting.entries.flatMap((entry) => (entry.kind === "end" ? [entry.usage] : []));
    return [...ended, this.usage].reduce(addUsage, NO_USAGE).cost;
  }

  /** Waits; rejects when the turn is cancelled. */
  async wait(milliseconds: number): Promise<void> {
    await sleep(milliseconds, this.setting.clock, this.signal);
    this.signal.throwIfAborted();
  }

  /** Notes the real paths that a call has used. */
  use(paths: readonly string[]): void {
    for (const folder of paths.map((path) => dirname(path)))
      if (!this.#used.has(folder)) this.#used.set(folder, false);
  }

  /** The folders below the working folder that calls have used, each once. */
  async takeUsed(): Promise<readonly string[]> {
    const fresh = [...this.#used].flatMap(([folder, isTaken]) => (isTaken ? [] : [folder]));
    for (const folder of fresh) this.#used.set(folder, true);
    const { roots } = this.setting.toolContext;
    const shown = await Promise.all(fresh.map((folder) => roots.shown(folder)));
    return shown.filter((path) => path !== "." && !isAbsolute(path));
  }

  /** Asks the supervisor for a decision. */
  ask<Type extends DecisionEventType>(
    type: Type,
    payload: DecisionEvents[Type]["payload"],
  ): Promise<DecisionEvents[Type]["decision"]> {
    const { control, sessionId } = this.setting;
    return control.ask(type, payload, { sessionId, signal: this.signal });
  }

  /** Reports an event to the supervisor. */
  report<Type extends ReportEventType>(type: Type, payload: ReportEvents[Type]): void {
    const { control, sessionId } = this.setting;
    control.report(type, payload, { sessionId });
  }

  /** Reports the status of the run, once for each change. */
  setStatus(
    status: ReportEvents["run_lifecycle"]["status"],
    more: Partial<ReportEvents["run_lifecycle"]> = {},
  ): void {
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

/** Limits of one turn. */
export interface TurnLimits {
  /** Requests to the model. */
  readonly requests: number;
  /** The number of requests between two confirmations. */
  readonly confirmEvery: number;
  /** Retries of one request. */
  readonly retries: number;
  /** Characters of one answer, thoughts included. */
  readonly answerCharacters: number;
  /** Calls of one answer. */
  readonly callsAtOnce: number;
  /** Characters of a tool result, for the model and for clients. */
  readonly resultCharacters: number;
  /** The idle timeout of a model's stream. */
  readonly quietMs: number;
  /** The most that the first backoff takes; it doubles with each retry. */
  readonly backoffMs: number;
  /** The longest wait that a model may ask for, unless the supervisor decides otherwise. */
  readonly longestWaitMs: number;
  /** How long a session is idle before background work runs. */
  readonly idleMs: number;
}

export const TURN_LIMITS: TurnLimits = {
  requests: 100,
  confirmEvery: 50,
  retries: 4,
  answerCharacters: 1 << 20,
  callsAtOnce: 32,
  resultCharacters: 64 * 1024,
  quietMs: 120_000,
  backoffMs: 1_000,
  longestWaitMs: 60_000,
  idleMs: 30_000,
};

/** Estimates the tokens of the conversation, the system prompt and the tools that the model is shown. */
export function contextTokens({ messages, system, tools }: Turn): number {
  const listed = tools.filter(({ isDeferred = false }) => !isDeferred);
  const described = JSON.stringify(listed.map(({ parameters, description }) => [parameters, description]));
  return tokensIn(system) + tokensIn(described) + tokensOfAll(messages);
}

/** Shows a search for tools to clients. */
export async function showSearch({ setting }: Turn, update: ToolSearchUpdate): Promise<void> {
  const { deferred, emit } = setting;
  if (deferred) await emit({ type: "tool_search", update: toolSearchUpdate(update, deferred) });
}
