import { z } from "zod";

/** Text in a conversation. */
const TextPart = z.object({
  type: z.literal("text"),
  text: z.string(),
  /** Whether it was put there by the harness and is none of the person's own words. */
  context: z.boolean().optional(),
});

/** An image, base64. */
const ImagePart = z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() });

/** What a model thought before it spoke. */
const ThinkingPart = z.object({
  type: z.literal("thinking"),
  text: z.string(),
  /** What only the model that thought it can read, to be given back to it and to nobody else. */
  seal: z.object({ model: z.string(), data: z.record(z.string(), z.unknown()) }).optional(),
});

const CallPart = z.object({
  type: z.literal("call"),
  /** The model's name for the call. */
  id: z.string(),
  name: z.string(),
  /** The arguments as the model wrote them; JSON when all is well. */
  arguments: z.string(),
  /** What clients know the call by. */
  toolCallId: z.string(),
});
/** A tool that a model calls. */
export type CallPart = z.infer<typeof CallPart>;

/** What a user message is made of. */
export const UserPart = z.discriminatedUnion("type", [TextPart, ImagePart]);
export type UserPart = z.infer<typeof UserPart>;

/** What a model's answer is made of. */
export const AssistantPart = z.discriminatedUnion("type", [TextPart, ThinkingPart, CallPart]);
export type AssistantPart = z.infer<typeof AssistantPart>;

/** What came of a call. */
export const ToolResult = z.object({
  /** The model's name for the call. */
  call: z.string(),
  name: z.string(),
  text: z.string(),
  isError: z.boolean(),
});
export type ToolResult = z.infer<typeof ToolResult>;

/** The texts of parts, one after the other. */
export function textOf(parts: readonly (UserPart | AssistantPart)[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

const Common = { turn: z.string(), at: z.string() };

/** Tokens that were used, as far as the model tells. */
export const TokenUsage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  thoughtTokens: z.number().optional(),
  cachedReadTokens: z.number().optional(),
  cachedWriteTokens: z.number().optional(),
  /** In dollars, where the price of the model is known. */
  cost: z.number().optional(),
});
export type TokenUsage = z.infer<typeof TokenUsage>;

/** Something that happened in a session. Entries are only ever added. */
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
    /** How many entries from the beginning it stands for. */
    covers: z.number(),
  }),
  /** The turn came to nothing and is not to be mentioned again. */
  z.object({ kind: z.literal("withdrawn"), ...Common }),
  /** A turn without one was interrupted. */
  z.object({ kind: z.literal("end"), ...Common, stop: z.string(), usage: TokenUsage }),
]);
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** The entry of a kind. */
export type EntryOf<Kind extends HistoryEntry["kind"]> = Extract<HistoryEntry, { kind: Kind }>;
