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

/** The result of a tool call. */
export const ToolResult = z.object({
  /** The model's id of the call. */
  call: z.string(),
  name: z.string(),
  text: z.string(),
  isError: z.boolean(),
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
  /** A turn without this entry was interrupted. */
  z.object({ kind: z.literal("end"), ...Common, stop: z.string(), usage: TokenUsage }),
]);
export type HistoryEntry = z.infer<typeof HistoryEntry>;

export type EntryOf<Kind extends HistoryEntry["kind"]> = Extract<HistoryEntry, { kind: Kind }>;
