import { z } from "zod";

const TextPart = z.object({
  type: z.literal("text"),
  text: z.string(),
  /** Whether the harness added it; then it is not part of the user's words. */
  context: z.boolean().optional(),
});

/** An image in base64. */
const ImagePart = z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() });

/** Reasoning of a model. */
const ThinkingPart = z.object({
  type: z.literal("thinking"),
  text: z.string(),
  /** Opaque data of the model, returned to that model only. */
  seal: z.object({ model: z.string(), data: z.record(z.string(), z.unknown()) }).optional(),
});

const CallPart = z.object({
  type: z.literal("call"),
  /** The model's id of the call. */
  id: z.string(),
  name: z.string(),
  /** The arguments as written by the model; normally JSON. */
  arguments: z.string(),
  /** The id of the call in ACP. */
  toolCallId: z.string(),
});
/** A tool call by a model. */
export type CallPart = z.infer<typeof CallPart>;

/** A part of a user message. */
export const UserPart = z.discriminatedUnion("type", [TextPart, ImagePart]);
export type UserPart = z.infer<typeof UserPart>;

/** A part of a model's message. */
export const AssistantPart = z.discriminatedUnion("type", [TextPart, ThinkingPart, CallPart]);
export type AssistantPart = z.infer<typeof AssistantPart>;

/** What a tool found that is not text, in base64. */
export const MediaPart = z.object({
  mimeType: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]),
  data: z.string(),
});
export type MediaPart = z.infer<typeof MediaPart>;

/** The result of a tool call. */
export const ToolResult = z.object({
  /** The model's id of the call. */
  call: z.string(),
  name: z.string(),
  text: z.string(),
  isError: z.boolean(),
  /** Images and documents beside the text. */
  media: z.array(MediaPart).optional(),
});
export type ToolResult = z.infer<typeof ToolResult>;

/** The texts of parts, joined by newlines. */
export function partsText(parts: readonly (UserPart | AssistantPart)[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

const Common = { turn: z.string(), at: z.string() };

/** Token usage, as reported by the model. */
export const TokenUsage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  thoughtTokens: z.number().optional(),
  cachedReadTokens: z.number().optional(),
  cachedWriteTokens: z.number().optional(),
  /** In dollars; absent when the price of the model is unknown. */
  cost: z.number().optional(),
});
export type TokenUsage = z.infer<typeof TokenUsage>;

/** An event in a session's history. Entries are only appended. */
export const HistoryEntry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("user"), ...Common, parts: z.array(UserPart) }),
  z.object({
    kind: z.literal("assistant"),
    ...Common,
    id: z.string(),
    model: z.string(),
    parts: z.array(AssistantPart),
  }),
  z.object({ kind: z.literal("results"), ...Common, results: z.array(ToolResult) }),
  z.object({
    kind: z.literal("compaction"),
    ...Common,
    summary: z.string(),
    /** The number of entries, from the start, that the summary replaces. */
    covers: z.number(),
  }),
  /** Which skills fit a prompt, and which are in use since; the conversation leaves it out. */
  z.object({
    kind: z.literal("skill_matched"),
    ...Common,
    matches: z.array(z.object({ name: z.string(), score: z.number(), reason: z.string() })),
    active: z.array(z.string()),
  }),
  /** The turn failed or was refused; the conversation leaves it out. */
  z.object({ kind: z.literal("withdrawn"), ...Common }),
  /** The conversation went back: what came after the first entries is left out of it. */
  z.object({
    kind: z.literal("rewound"),
    ...Common,
    /** The number of stored entries, from the start, that are as they were when there were no more. */
    keeps: z.number(),
  }),
  /** A turn without this entry was interrupted. */
  z.object({ kind: z.literal("end"), ...Common, stop: z.string(), usage: TokenUsage }),
]);
export type HistoryEntry = z.infer<typeof HistoryEntry>;

type EntryOf<Kind extends HistoryEntry["kind"]> = Extract<HistoryEntry, { kind: Kind }>;

/** A message of a conversation, as sent to a model. */
export type Message =
  | { readonly role: "user"; readonly parts: readonly UserPart[] }
  | { readonly role: "assistant"; readonly model: string; readonly parts: readonly AssistantPart[] }
  | { readonly role: "tool"; readonly results: readonly ToolResult[] };

/** The result of a call that was interrupted. It is never repeated automatically. */
const UNKNOWN_OUTCOME =
  "The process ended before the result came in. Whether it was carried out is unknown; look before you do it again.";

/**
 * Builds the conversation of a history: without withdrawn turns, from the last compaction on, and with a result for
 * every call, because models reject a conversation in which one is missing.
 */
export function transcriptOf(entries: readonly HistoryEntry[]): readonly Message[] {
  const withdrawn = new Set(entries.filter(({ kind }) => kind === "withdrawn").map(({ turn }) => turn));
  const compaction = entries.findLast((entry) => entry.kind === "compaction");
  const messages: Message[] = compaction ? [summaryOf(compaction)] : [];
  let open: readonly ToolResult[] = [];
  for (const entry of entries.slice(compaction?.covers ?? 0)) {
    if (withdrawn.has(entry.turn)) continue;
    if (entry.kind === "results") {
      messages.push({ role: "tool", results: withMissing(entry.results, open) });
      open = [];
    }
    if (entry.kind !== "user" && entry.kind !== "assistant") continue;
    if (open.length > 0) messages.push({ role: "tool", results: open });
    open = [];
    if (entry.kind === "user") messages.push({ role: "user", parts: entry.parts });
    else {
      messages.push({ role: "assistant", model: entry.model, parts: entry.parts });
      open = entry.parts.flatMap((part) => (part.type === "call" ? [unknownResult(part)] : []));
    }
  }
  return open.length > 0 ? [...messages, { role: "tool", results: open }] : messages;
}

/**
 * The stored entries that are in effect: without what a rewind left out, but for the usage of turns, which was spent all the
 * same. To go back to before a rewind brings back what that one left out.
 */
export function entriesInEffect(stored: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const at = stored.findLastIndex(({ kind }) => kind === "rewound");
  const last = stored[at];
  if (last?.kind !== "rewound") return stored;
  const spent = stored.slice(last.keeps, at).filter(({ kind }) => kind === "end");
  return [...entriesInEffect(stored.slice(0, last.keeps)), ...spent, ...stored.slice(at + 1)];
}

/** A turn of a conversation, or a rewind of it. */
export interface ConversationTurn {
  readonly id: string;
  readonly at: string;
  /** The beginning of the user's words; nothing for a rewind. */
  readonly prompt: string | undefined;
  /** Whether the model is shown it. */
  readonly inEffect: boolean;
}

const PROMPT_LENGTH = 200;

/** The turns and rewinds among stored entries, in their order. */
export function conversationTurns(stored: readonly HistoryEntry[]): readonly ConversationTurn[] {
  const shown = new Set<HistoryEntry>(entriesInEffect(stored));
  const turns = new Map<string, ConversationTurn>();
  for (const entry of stored) {
    if ((entry.kind !== "user" && entry.kind !== "rewound") || turns.has(entry.turn)) continue;
    const words = entry.kind === "user" ? partsText(entry.parts.filter(isOfUser)) : undefined;
    turns.set(entry.turn, {
      ...{ id: entry.turn, at: entry.at, prompt: words?.trim().slice(0, PROMPT_LENGTH) },
      inEffect: entry.kind === "rewound" || shown.has(entry),
    });
  }
  return [...turns.values()];
}

function isOfUser(part: UserPart): boolean {
  return part.type !== "text" || part.context !== true;
}

/** The turns that started and never ended, most likely because the process did. */
export function interruptedTurns(entries: readonly HistoryEntry[]): ReadonlySet<string> {
  const turns = new Set(entries.filter(({ kind }) => kind === "user").map(({ turn }) => turn));
  for (const { kind, turn } of entries) if (kind === "end" || kind === "withdrawn") turns.delete(turn);
  return turns;
}

function summaryOf({ summary }: EntryOf<"compaction">): Message {
  const text = `What happened before, in short:\n\n${summary}`;
  return { role: "user", parts: [{ type: "text", text, context: true }] };
}

function unknownResult({ id, name }: { readonly id: string; readonly name: string }): ToolResult {
  return { call: id, name, text: UNKNOWN_OUTCOME, isError: true };
}

function withMissing(results: readonly ToolResult[], open: readonly ToolResult[]): readonly ToolResult[] {
  const known = new Set(results.map(({ call }) => call));
  return [...results, ...open.filter(({ call }) => !known.has(call))];
}
