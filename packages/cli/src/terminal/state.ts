import { readUpdate } from "@reins/acp";
import type { Approval } from "@reins/api";
import type { ConversationEvent, SessionRecord } from "@reins/sdk";
import { closedPart } from "./markdown.ts";
import { type SessionSetting, sessionSettings } from "./settings.ts";
import { type CallView, callViewWith, endingOf, noteOf } from "./update-views.ts";

/** One finished part of a conversation. It is printed once and does not change. */
export type FinishedPart =
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "message"; readonly from: Speaker; readonly text: string; readonly isStart: boolean }
  | { readonly kind: "tool"; readonly call: CallView }
  | { readonly kind: "plan"; readonly steps: readonly PlanLine[] }
  | { readonly kind: "question"; readonly question: AskedQuestion }
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | { readonly kind: "note"; readonly tone: NoteTone; readonly text: string };

type Speaker = "agent" | "thought";
export type NoteTone = "note" | "good" | "warn" | "bad";

export interface PlanLine {
  readonly content: string;
  readonly status: string;
}

/** What an agent asks and a person answers. */
export interface AskedQuestion {
  /** The id of the approval. */
  readonly key: string;
  readonly session: string;
  readonly call: string | undefined;
  /** What an answer binds, as the server has it. */
  readonly approval: Approval;
}

interface SessionInfo {
  readonly id: string;
  readonly agent: string;
  readonly cwd: string;
  readonly title: string | undefined;
  readonly enforcement: string | undefined;
}

/** A prompt of this terminal whose turn has not begun. */
interface QueuedPrompt {
  readonly id: string;
  readonly text: string;
}

interface Usage {
  readonly used: number;
  readonly size: number | undefined;
}

/** What the terminal shows. */
export interface State {
  readonly session: SessionInfo | undefined;
  /** What is finished and not printed yet. */
  readonly finished: readonly FinishedPart[];
  /** The message that grows. */
  readonly message: { readonly from: Speaker; readonly text: string; readonly isStart: boolean } | undefined;
  /** The tool calls that have not ended. */
  readonly tools: readonly CallView[];
  /** The ids of those that ended in this turn. */
  readonly ended: readonly string[];
  readonly plan: readonly PlanLine[];
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly settings: readonly SessionSetting[];
  readonly usage: Usage | undefined;
  readonly cost: { readonly amount: number; readonly currency: string } | undefined;
  readonly queue: readonly QueuedPrompt[];
  /** The running turn: its prompt of this terminal, or `other`. */
  readonly turn: string | undefined;
  readonly isCancelling: boolean;
  /** In the order of arrival; the first is asked. */
  readonly questions: readonly AskedQuestion[];
  /** What the terminal has to say while a question holds back everything else. */
  readonly hint: string | undefined;
  /** Whether keys answer the question instead of writing. */
  readonly isAnswering: boolean;
  readonly isConnected: boolean;
  /** Whether the session has ended permanently. */
  readonly isOver: boolean;
  /** What the terminal itself does, such as an install. */
  readonly busy: string | undefined;
  /** Whether the next Ctrl-C leaves. */
  readonly isLeaving: boolean;
}

export const EMPTY_STATE: State = {
  session: undefined,
  finished: [],
  message: undefined,
  tools: [],
  ended: [],
  plan: [],
  commands: [],
  settings: [],
  usage: undefined,
  cost: undefined,
  queue: [],
  turn: undefined,
  isCancelling: false,
  questions: [],
  hint: undefined,
  isAnswering: false,
  isConnected: true,
  isOver: false,
  busy: undefined,
  isLeaving: false,
};

/** Everything that changes what the terminal shows. */
export type TerminalEvent =
  | { readonly type: "conversation"; readonly event: ConversationEvent }
  | { readonly type: "opened"; readonly record: SessionRecord }
  | { readonly type: "settings"; readonly settings: unknown }
  | { readonly type: "queued"; readonly prompt: QueuedPrompt }
  | { readonly type: "turn_ended"; readonly prompt: string; readonly stopReason: string }
  | { readonly type: "turn_failed"; readonly prompt: string; readonly text: string }
  | { readonly type: "cancelling" }
  | { readonly type: "asked"; readonly question: AskedQuestion; readonly call?: unknown }
  | { readonly type: "settled"; readonly key: string; readonly note: string; readonly tone: NoteTone }
  | { readonly type: "put_off"; readonly key: string }
  | { readonly type: "answering"; readonly isAnswering: boolean }
  | { readonly type: "leaving"; readonly isLeaving: boolean }
  | { readonly type: "connection"; readonly isConnected: boolean }
  | { readonly type: "busy"; readonly text: string | undefined }
  | { readonly type: "note"; readonly tone: NoteTone; readonly text: string }
  | { readonly type: "lines"; readonly lines: readonly string[] }
  | { readonly type: "printed"; readonly count: number };

/** The next state. Pure: the same state and event make the same state. */
export function reduce(state: State, event: TerminalEvent): State {
  switch (event.type) {
    case "conversation":
      return converse(state, event.event);
    case "opened":
      return opened(state, event.record);
    case "settings":
      return { ...state, settings: sessionSettings(event.settings, state.settings) };
    case "queued":
      return { ...state, queue: [...state.queue, event.prompt], isLeaving: false };
    case "turn_ended":
      return turnEnded(state, event.prompt, endingOf(event.stopReason));
    case "turn_failed":
      return turnEnded(state, event.prompt, { kind: "note", tone: "bad", text: event.text });
    case "cancelling":
      return { ...state, isCancelling: true };
    case "asked":
      return asked(state, event.question, event.call);
    case "settled":
      return settled(state, event.key, [{ kind: "note", tone: event.tone, text: event.note }]);
    case "put_off":
      return settled(state, event.key, []);
    case "answering":
      return { ...state, isAnswering: event.isAnswering && state.questions.length > 0, hint: undefined };
    case "leaving":
      return { ...state, isLeaving: event.isLeaving };
    case "connection":
      return connected(state, event.isConnected);
    case "busy":
      return { ...state, busy: event.text };
    case "note":
      if (state.questions.length > 0) return { ...state, hint: event.text };
      return withParts(closed(state), { kind: "note", tone: event.tone, text: event.text });
    case "lines":
      return withParts(closed(state), { kind: "lines", lines: event.lines });
    case "printed":
      return { ...state, finished: state.finished.slice(event.count) };
  }
}

function opened(state: State, record: SessionRecord): State {
  const { id, agent, cwd, title, enforcement, cost_usd: cost } = record;
  return {
    ...EMPTY_STATE,
    finished: closed(state).finished,
    isConnected: state.isConnected,
    session: { id, agent, cwd, title, enforcement },
    settings: sessionSettings(record.settings, []),
    cost: cost === undefined ? undefined : { amount: cost, currency: "USD" },
  };
}

function converse(state: State, event: ConversationEvent): State {
  switch (event.type) {
    case "prompt":
      return promptBegan(state, event.text, event.prompt);
    case "text":
      return said(state, "agent", event.text);
    case "thought":
      return said(state, "thought", event.text);
    case "tool":
      return toolChanged(state, event.update);
    case "plan":
      return {
        ...state,
        plan: event.plan.entries.map(({ content = "", status = "pending" }) => ({ content, status })),
      };
    case "turn":
      return turnOfOthers(state, event.state);
    case "gap":
      return withParts(closed(state), {
        kind: "note",
        tone: "warn",
        text: `Messages are missing: ${event.reason}`,
      });
    case "session_ended":
      return over(state);
    case "update":
      return updated(state, event.kind, event.update);
  }
}

/** A message of several chunks of the user is one prompt. */
function promptBegan(state: State, text: string, prompt: string | undefined): State {
  const queued = state.queue.some(({ id }) => id === prompt);
  const before = closed(state);
  const last = before.finished.at(-1);
  if (prompt === undefined && last?.kind === "prompt" && state.message === undefined) {
    const joined: FinishedPart = { ...last, text: `${last.text}\n${text}` };
    return { ...before, finished: [...before.finished.slice(0, -1), joined] };
  }
  return {
    ...withParts(before, { kind: "prompt", text }),
    queue: state.queue.filter(({ id }) => id !== prompt),
    ...(queued && { turn: prompt, isCancelling: false }),
    plan: [],
  };
}

/** Appends to the growing message; its paragraphs that are complete become finished parts. */
function said(state: State, from: Speaker, text: string): State {
  const before = state.message?.from === from ? state : closed(state);
  const { message } = before;
  const whole = (message?.text ?? "") + text;
  const isStart = message?.isStart ?? true;
  const end = closedPart(whole);
  if (end === 0) return { ...before, message: { from, text: whole, isStart } };
  const done: FinishedPart = { kind: "message", from, text: whole.slice(0, end), isStart };
  const rest = whole.slice(end);
  return { ...withParts(before, done), message: { from, text: rest, isStart: false } };
}

function toolChanged(state: State, update: unknown): State {
  const id = readUpdate("tool_call_update", update).toolCallId;
  // It is printed already.
  if (id === undefined || state.ended.includes(id)) return state;
  const before = closed(state);
  const call = callViewWith(
    state.tools.find((one) => one.id === id),
    update,
  );
  if (!call) return before;
  const others = state.tools.filter((one) => one.id !== call.id);
  if (call.isOver)
    return {
      ...withParts(before, { kind: "tool", call }),
      tools: others,
      ended: [...state.ended, call.id],
    };
  const index = state.tools.findIndex((one) => one.id === call.id);
  return { ...before, tools: index < 0 ? [...others, call] : state.tools.with(index, call) };
}

function updated(state: State, kind: string, update: unknown): State {
  switch (kind) {
    case "available_commands_update": {
      const { availableCommands } = readUpdate(kind, update);
      const commands = availableCommands.flatMap(({ name, description: about = "" }) =>
        name === undefined ? [] : [{ name, about }],
      );
      return { ...state, commands };
    }
    case "current_mode_update": {
      const { currentModeId } = readUpdate(kind, update);
      const settings = state.settings.map((setting) =>
        setting.category === "mode" ? { ...setting, current: currentModeId ?? setting.current } : setting,
      );
      return { ...state, settings };
    }
    case "config_option_update":
      return { ...state, settings: sessionSettings(update, state.settings) };
    case "session_info_update": {
      const { title } = readUpdate(kind, update);
      return state.session && title !== undefined
        ? { ...state, session: { ...state.session, title } }
        : state;
    }
    case "usage_update": {
      const { used, size, cost } = readUpdate(kind, update);
      const { amount, currency } = cost;
      return {
        ...state,
        usage: used === undefined ? state.usage : { used, size },
        cost: amount === undefined ? state.cost : { amount, currency: currency ?? "USD" },
      };
    }
    default: {
      const note = noteOf(kind, update);
      return note ? withParts(closed(state), note) : state;
    }
  }
}

function turnEnded(state: State, prompt: string, note: FinishedPart | undefined): State {
  // Its turn never began.
  const queued = state.queue.find(({ id }) => id === prompt);
  const begun = queued ? withParts(closed(state), { kind: "prompt", text: queued.text }) : state;
  const queue = state.queue.filter(({ id }) => id !== prompt);
  const ended = state.turn === prompt ? idle(begun) : closed(begun);
  return { ...(note ? withParts(ended, note) : ended), queue };
}

function turnOfOthers(state: State, turn: "running" | "idle"): State {
  if (turn === "running") return { ...state, turn: state.turn ?? "other" };
  return state.turn === "other" ? idle(state) : state;
}

/** Without a running turn: what did not end is printed as it is. */
function idle(state: State): State {
  const before = closed(state);
  const begun = before.tools.filter(({ isAsked }) => isAsked !== true);
  const tools = begun.map((call): FinishedPart => ({ kind: "tool", call }));
  const unfinished = before.plan.some(({ status }) => status !== "completed");
  const plan: FinishedPart[] =
    before.plan.length > 0 && unfinished ? [{ kind: "plan", steps: before.plan }] : [];
  return {
    ...withParts(before, ...tools, ...plan),
    tools: [],
    ended: [],
    plan: [],
    turn: undefined,
    isCancelling: false,
  };
}

function over(state: State): State {
  if (state.isOver) return state;
  const note: FinishedPart = {
    kind: "note",
    tone: "warn",
    text: "This session has ended and takes no more prompts. /new begins another.",
  };
  return {
    ...withParts(idle(state), note),
    ...{ isOver: true, queue: [], questions: [], isAnswering: false },
  };
}

/** Some agents announce a call only by asking for it. */
function asked(state: State, question: AskedQuestion, asks: unknown): State {
  if (state.questions.some(({ key }) => key === question.key)) return state;
  const questions = [...state.questions, question];
  const before = closed(state);
  const call = callViewWith(undefined, asks);
  const isNew = call && !state.ended.includes(call.id) && state.tools.every(({ id }) => id !== call.id);
  const tools = isNew
    ? [...before.tools, { ...call, content: [], isOver: false, isAsked: true }]
    : before.tools;
  const next = { ...before, questions, tools };
  return state.questions.length === 0 ? withParts(next, { kind: "question", question }) : next;
}

/** Removes a question; the next one is shown below it. */
function settled(state: State, key: string, notes: readonly FinishedPart[]): State {
  if (!state.questions.some((question) => question.key === key)) return state;
  const wasAsked = state.questions[0]?.key === key;
  const questions = state.questions.filter((question) => question.key !== key);
  const [next] = questions;
  const shown: FinishedPart[] = wasAsked && next ? [{ kind: "question", question: next }] : [];
  // The note stands below its question, before what came meanwhile.
  const at = state.finished.findIndex((part) => part.kind === "question" && part.question.key === key) + 1;
  const finished = [...state.finished.slice(0, at), ...notes, ...state.finished.slice(at), ...shown];
  return { ...state, finished, questions, hint: undefined, isAnswering: !wasAsked && state.isAnswering };
}

function connected(state: State, isConnected: boolean): State {
  if (isConnected === state.isConnected) return state;
  const note: FinishedPart = isConnected
    ? { kind: "note", tone: "good", text: "Connected again." }
    : { kind: "note", tone: "warn", text: "The connection to Reins is lost; trying to reconnect." };
  return { ...withParts(closed(state), note), isConnected };
}

/** Ends the growing message. */
function closed(state: State): State {
  const { message } = state;
  if (!message) return state;
  const done: FinishedPart = { kind: "message", ...message };
  return { ...(message.text.trim() === "" ? state : withParts(state, done)), message: undefined };
}

function withParts(state: State, ...finished: readonly FinishedPart[]): State {
  return finished.length === 0 ? state : { ...state, finished: [...state.finished, ...finished] };
}
