import { chunkText, isObject, type JsonObject, membersOf, readResult, readUpdate } from "@reins/acp";
import { visible } from "../../design/format.ts";
import { type Annotation, annotationIn, contentText, type ToolCall, toolCallWith } from "./tool-call.ts";

/** The author of a message; `harness` for messages that Reins wrote itself. */
export type Speaker = "user" | "agent" | "thought" | "harness";

/** One item of a conversation. A changed item is a new object. */
export type Item =
  | {
      readonly kind: "message";
      readonly from: Speaker;
      readonly text: string;
      /** The message id, if the agent sends one. */
      readonly name: string | undefined;
      readonly said: Annotation | undefined;
    }
  | { readonly kind: "tool"; readonly call: ToolCall }
  | { readonly kind: "note"; readonly tone: "note" | "warn" | "bad"; readonly text: string };

export interface PlanStep {
  readonly content: string;
  readonly status: string;
}

/** A slash command of the agent. */
export interface Command {
  readonly name: string;
  readonly about: string;
  readonly hint: string | undefined;
}

interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost: { readonly amount: number; readonly currency: string } | undefined;
}

/** A session, reduced from its updates. */
export interface Conversation {
  readonly items: readonly Item[];
  readonly plan: readonly PlanStep[];
  /** Oldest first. */
  readonly workers: readonly SessionWorker[];
  readonly commands: readonly Command[];
  readonly settings: readonly Setting[];
  readonly usage: Usage | undefined;
}

/** The state before any update. */
export const EMPTY_CONVERSATION: Conversation = {
  items: [],
  plan: [],
  workers: [],
  commands: [],
  settings: [],
  usage: undefined,
};

/** A session update with its arrival time; replayed updates have none. */
export interface ReceivedUpdate {
  readonly update: JsonObject;
  readonly at: number | undefined;
}

/** A conversation with a mutable list of items. */
type Draft = { -readonly [Key in keyof Conversation]: Conversation[Key] } & { items: Item[] };

/** Applies updates to a conversation; a batch copies the list once. */
export function withUpdates(conversation: Conversation, received: readonly ReceivedUpdate[]): Conversation {
  if (received.length === 0) return conversation;
  const draft: Draft = { ...conversation, items: [...conversation.items] };
  for (const { update, at } of received) APPLY.get(update.sessionUpdate)?.(draft, update, at);
  return draft;
}

/** Appends a note of the page itself. */
export function withNote(
  conversation: Conversation,
  tone: "note" | "warn" | "bad",
  text: string,
): Conversation {
  return { ...conversation, items: [...conversation.items, { kind: "note", tone, text }] };
}

const TONES: Readonly<Record<string, "warn" | "bad">> = { error: "bad", warning: "warn" };
const SUMMARIZED = "The agent summarized the conversation before this point.";

type Apply = (draft: Draft, update: JsonObject, at: number | undefined) => void;

/** How each kind of update changes a conversation. Unknown kinds change nothing; the page of messages lists them. */
const APPLY: ReadonlyMap<unknown, Apply> = new Map<string, Apply>([
  ["user_message_chunk", (draft, update) => appendChunk(draft, "user", update)],
  ["agent_message_chunk", (draft, update) => appendChunk(draft, "agent", update)],
  ["agent_thought_chunk", (draft, update) => appendChunk(draft, "thought", update)],
  ["tool_call", updateToolCall],
  ["tool_call_update", updateToolCall],
  [
    "plan",
    (draft, update) => {
      const { entries } = readUpdate("plan", update);
      draft.plan = entries.map(({ content = "", status = "pending" }) => ({ content, status }));
    },
  ],
  [
    "worker_update",
    (draft, update) => {
      draft.workers = withWorker(draft.workers, update);
    },
  ],
  [
    "available_commands_update",
    (draft, update) => {
      const { availableCommands } = readUpdate("available_commands_update", update);
      draft.commands = availableCommands.flatMap(({ name, description: about = "", input: { hint } }) =>
        name === undefined ? [] : [{ name, about, hint }],
      );
    },
  ],
  [
    "current_mode_update",
    (draft, update) => {
      const { currentModeId } = readUpdate("current_mode_update", update);
      draft.settings = draft.settings.map((setting) =>
        setting.category === "mode" ? { ...setting, current: currentModeId ?? setting.current } : setting,
      );
    },
  ],
  [
    "config_option_update",
    (draft, update) => {
      draft.settings = [...draft.settings.filter(({ isMode }) => isMode), ...settingsIn(update)];
    },
  ],
  [
    "usage_update",
    (draft, update) => {
      draft.usage = usageIn(update) ?? draft.usage;
    },
  ],
  [
    "notice",
    (draft, update) => {
      const { severity = "", title, description } = readUpdate("notice", update);
      const text = [title, description].filter((one) => one !== undefined).join(": ");
      draft.items.push({ kind: "note", tone: TONES[severity] ?? "note", text });
    },
  ],
  [
    "tool_search_query",
    (draft, update) => {
      const { query = "" } = readUpdate("tool_search_query", update);
      draft.items.push({ kind: "note", tone: "note", text: `Searched for tools: ${query}` });
    },
  ],
  [
    "tool_search_result",
    (draft, update) => {
      const { promoted, diagnostic } = readUpdate("tool_search_result", update);
      const found = promoted.length === 0 ? "No tools found" : `Tools found: ${promoted.join(", ")}`;
      const text = diagnostic === undefined ? found : `${found} (${diagnostic})`;
      draft.items.push({ kind: "note", tone: "note", text });
    },
  ],
  [
    "compaction_update",
    (draft, update) => {
      const { status } = readUpdate("compaction_update", update);
      if (status === "completed") draft.items.push({ kind: "note", tone: "note", text: SUMMARIZED });
    },
  ],
]);

/** Appends a chunk to the last message; another author, message id or annotation starts a new message. */
function appendChunk(draft: Draft, speaker: Speaker, update: JsonObject): void {
  const said = annotationIn(update);
  const from = said && speaker === "agent" ? "harness" : speaker;
  const name = typeof update.messageId === "string" ? update.messageId : said?.prompt;
  const text = chunkText(update) ?? contentText(update.content);
  const last = draft.items.at(-1);
  if (last?.kind === "message" && last.from === from && last.name === name && isSame(last.said, said)) {
    draft.items[draft.items.length - 1] = { ...last, text: last.text + text };
    return;
  }
  if (text !== "") draft.items.push({ kind: "message", from, text, name, said });
}

function isSame(one: Annotation | undefined, other: Annotation | undefined): boolean {
  return one === other || (one?.entry === other?.entry && one?.prompt === other?.prompt && !one?.interrupted);
}

function updateToolCall(draft: Draft, update: JsonObject, at: number | undefined): void {
  const { toolCallId: id } = update;
  const index = draft.items.findLastIndex((item) => item.kind === "tool" && item.call.id === id);
  const known = draft.items[index];
  const call = toolCallWith(known?.kind === "tool" ? known.call : undefined, update, at);
  if (!call) return;
  if (index < 0) draft.items.push({ kind: "tool", call });
  else draft.items[index] = { kind: "tool", call };
}

function usageIn(update: JsonObject): Usage | undefined {
  const { used, size, cost } = readUpdate("usage_update", update);
  if (used === undefined || size === undefined) return undefined;
  const { amount, currency } = cost;
  const known = amount === undefined || currency === undefined ? undefined : { amount, currency };
  return { used, size, cost: known };
}

/** At most this many pages are fetched of one session. */
const MAX_PAGES = 100;

/** Fetches the history of a session page by page, up to a position or all of it. */
export async function fetchHistory(
  ask: (params: object) => Promise<unknown>,
  sessionId: string,
  until: number | undefined,
): Promise<readonly Item[]> {
  let conversation = EMPTY_CONVERSATION;
  let after = 0;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { updates, next } = membersOf(await ask({ sessionId, after, until }));
    if (!Array.isArray(updates)) throw new Error("The server's page of the history has no updates.");
    conversation = withUpdates(
      conversation,
      updates.filter(isObject).map((update) => ({ update, at: undefined })),
    );
    if (typeof next !== "number") return conversation.items;
    after = next;
  }
  return withNote(conversation, "warn", "The history is longer than shown here.").items;
}

interface Choosable {
  readonly value: string;
  readonly name: string;
}

/** A setting of a session. */
export interface Setting {
  /** `mode`, or the id of a config option. */
  readonly id: string;
  readonly name: string;
  readonly isMode: boolean;
  readonly category: string | undefined;
  readonly current: string;
  readonly choices: readonly Choosable[];
}

/** Reads the settings from a response or update. A mode that is also a config option is listed once. */
export function settingsIn(answer: unknown): readonly Setting[] {
  const { modes, configOptions } = readResult("session/load", answer);
  const options = configOptions.flatMap(({ id, name, category, type, currentValue: current, options }) => {
    if (id === undefined || name === undefined || type !== "select" || typeof current !== "string") return [];
    const choices = options.flatMap((option) => [...choiceOf(option), ...option.options.flatMap(choiceOf)]);
    return [{ id, name: visible(name), isMode: false, category, current, choices }];
  });
  const { currentModeId: current, availableModes } = modes;
  if (current === undefined || options.some(({ category }) => category === "mode")) return options;
  const choices = availableModes.flatMap(({ id, name }) => choiceOf({ value: id, name }));
  return [{ id: "mode", name: "Mode", isMode: true, category: "mode", current, choices }, ...options];
}

function choiceOf(given: {
  readonly value?: string | undefined;
  readonly name?: string | undefined;
}): readonly Choosable[] {
  const { value, name } = given;
  return value === undefined || name === undefined ? [] : [{ value, name: visible(name) }];
}

/** A worker of a session, reduced from its updates. */
export interface SessionWorker {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly status: string;
  readonly isOver: boolean;
  /** What it does, its result, or why it failed, in a line. */
  readonly summary: string | undefined;
  /** The session it works in, once it exists. */
  readonly session: string | undefined;
  readonly parent: string | undefined;
  readonly startedAt: string | undefined;
  readonly finishedAt: string | undefined;
  readonly sequence: number;
}

/** A worker with those below it. */
export interface WorkerNode {
  readonly worker: SessionWorker;
  readonly children: readonly WorkerNode[];
}

const MOST_WORKERS = 500;

/** The workers after an update, oldest first. One that is older than what is known, or comes after the end, changes nothing. */
function withWorker(workers: readonly SessionWorker[], update: JsonObject): readonly SessionWorker[] {
  const worker = workerIn(update);
  if (!worker) return workers;
  const index = workers.findIndex(({ id }) => id === worker.id);
  const known = workers[index];
  if (!known) return [...workers, worker].slice(-MOST_WORKERS);
  if (known.isOver || worker.sequence <= known.sequence) return workers;
  return workers.with(index, worker);
}

/** Workers below the workers that started them. */
export function workerTree(workers: readonly SessionWorker[]): readonly WorkerNode[] {
  const known = new Set(workers.map(({ id }) => id));
  const below = Map.groupBy(workers, ({ parent }) =>
    parent !== undefined && known.has(parent) ? parent : undefined,
  );
  const seen = new Set<string>();
  const nodesOf = (parent: string | undefined): WorkerNode[] =>
    (below.get(parent) ?? []).flatMap((worker) => {
      if (seen.has(worker.id)) return [];
      seen.add(worker.id);
      return [{ worker, children: nodesOf(worker.id) }];
    });
  return nodesOf(undefined);
}

function workerIn(update: JsonObject): SessionWorker | undefined {
  const { workerId: id, terminal } = update;
  if (typeof id !== "string") return undefined;
  const metadata = membersOf(update.metadata);
  const audit = membersOf(update.audit);
  return {
    id,
    name: textIn(update.workerName) ?? id,
    task: textIn(update.workerTask) ?? "",
    status: textIn(update.status) ?? "running",
    isOver: terminal === true,
    summary: textIn(metadata.error) ?? textIn(metadata.summary),
    session: textIn(audit.session_id),
    parent: textIn(audit.parent_worker_id),
    startedAt: textIn(metadata.started_at),
    finishedAt: textIn(metadata.finished_at),
    sequence: typeof metadata.sequence === "number" ? metadata.sequence : 0,
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
