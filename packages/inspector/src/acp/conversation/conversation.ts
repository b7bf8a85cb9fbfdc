import { z } from "zod";
import { type Annotation, annotationIn, contentText, parseContent } from "./content.ts";
import { type Setting, settingsIn } from "./settings.ts";
import { type ToolCall, toolCallIdIn, toolCallWith } from "./tool-call.ts";

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

/** Tokens and cost so far. */
interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost: { readonly amount: number; readonly currency: string } | undefined;
}

/** A session, reduced from its updates. */
export interface Conversation {
  readonly items: readonly Item[];
  readonly plan: readonly PlanStep[];
  readonly commands: readonly Command[];
  readonly settings: readonly Setting[];
  readonly usage: Usage | undefined;
}

/** The state before any update. */
export const EMPTY_CONVERSATION: Conversation = {
  items: [],
  plan: [],
  commands: [],
  settings: [],
  usage: undefined,
};

/** A session update with its arrival time; replayed updates have none. */
export interface ReceivedUpdate {
  readonly update: Readonly<Record<string, unknown>> & { readonly sessionUpdate: string };
  readonly at: number | undefined;
}

/** A conversation with a mutable list of items. */
type Draft = { -readonly [Key in keyof Conversation]: Conversation[Key] } & { items: Item[] };

/** Applies updates to a conversation; a batch copies the list once. */
export function withUpdates(conversation: Conversation, received: readonly ReceivedUpdate[]): Conversation {
  if (received.length === 0) return conversation;
  const draft: Draft = { ...conversation, items: [...conversation.items] };
  for (const one of received) applyUpdate(draft, one);
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

function applyUpdate(draft: Draft, { update, at }: ReceivedUpdate): void {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      appendChunk(draft, "user", update);
      return;
    case "agent_message_chunk":
      appendChunk(draft, "agent", update);
      return;
    case "agent_thought_chunk":
      appendChunk(draft, "thought", update);
      return;
    case "tool_call":
    case "tool_call_update":
      updateToolCall(draft, update, at);
      return;
    case "plan":
      draft.plan = planIn(update) ?? draft.plan;
      return;
    case "available_commands_update":
      draft.commands = commandsIn(update) ?? draft.commands;
      return;
    case "current_mode_update":
      draft.settings = draft.settings.map((setting) =>
        setting.category === "mode" && typeof update.currentModeId === "string"
          ? { ...setting, current: update.currentModeId }
          : setting,
      );
      return;
    case "config_option_update":
      draft.settings = [
        ...draft.settings.filter(({ isMode }) => isMode),
        ...settingsIn({ configOptions: update.configOptions }),
      ];
      return;
    case "usage_update":
      draft.usage = usageIn(update) ?? draft.usage;
      return;
    case "notice":
      draft.items.push(noticeIn(update));
      return;
    case "compaction_update":
      if (update.status === "completed")
        draft.items.push({
          kind: "note",
          tone: "note",
          text: "The agent summarized the conversation before this point.",
        });
      return;
    default:
      // Unknown updates are on the page of messages.
      return;
  }
}

/** Appends a chunk to the last message; another author, message id or annotation starts a new message. */
function appendChunk(draft: Draft, speaker: Speaker, update: ReceivedUpdate["update"]): void {
  const said = annotationIn(update);
  const from = said && speaker === "agent" ? "harness" : speaker;
  const name = typeof update.messageId === "string" ? update.messageId : said?.prompt;
  const text = contentText(parseContent(update.content));
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

function updateToolCall(draft: Draft, update: unknown, at: number | undefined): void {
  const id = toolCallIdIn(update);
  if (id === undefined) return;
  const index = draft.items.findLastIndex((item) => item.kind === "tool" && item.call.id === id);
  const known = draft.items[index];
  const call = toolCallWith(known?.kind === "tool" ? known.call : undefined, update, at);
  if (!call) return;
  if (index < 0) draft.items.push({ kind: "tool", call });
  else draft.items[index] = { kind: "tool", call };
}

const Plan = z.looseObject({
  entries: z.array(z.looseObject({ content: z.string(), status: z.string().default("pending") })),
});

function planIn(update: unknown): Conversation["plan"] | undefined {
  const read = Plan.safeParse(update);
  return read.success ? read.data.entries.map(({ content, status }) => ({ content, status })) : undefined;
}

const Commands = z.looseObject({
  availableCommands: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().default(""),
      input: z.looseObject({ hint: z.string().optional() }).nullish(),
    }),
  ),
});

function commandsIn(update: unknown): Conversation["commands"] | undefined {
  const read = Commands.safeParse(update);
  return read.success
    ? read.data.availableCommands.map(({ name, description, input }) => ({
        name,
        about: description,
        hint: input?.hint,
      }))
    : undefined;
}

const Used = z.looseObject({
  used: z.number(),
  size: z.number(),
  cost: z.looseObject({ amount: z.number(), currency: z.string() }).nullish(),
});

function usageIn(update: unknown): Conversation["usage"] | undefined {
  const read = Used.safeParse(update);
  if (!read.success) return undefined;
  const { used, size, cost } = read.data;
  return { used, size, cost: cost ?? undefined };
}

function noticeIn({ severity, title, description }: ReceivedUpdate["update"]): Item {
  const tone = severity === "error" ? "bad" : severity === "warning" ? "warn" : "note";
  const text = [title, description].filter((one) => typeof one === "string").join(": ");
  return { kind: "note", tone, text };
}

const Page = z.looseObject({
  updates: z.array(z.looseObject({ sessionUpdate: z.string() })),
  next: z.number().nullable(),
});

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
    const { updates, next } = Page.parse(await ask({ sessionId, after, until }));
    conversation = withUpdates(
      conversation,
      updates.map((update) => ({ update, at: undefined })),
    );
    if (next === null) return conversation.items;
    after = next;
  }
  return withNote(conversation, "warn", "The history is longer than shown here.").items;
}
