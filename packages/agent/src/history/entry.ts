import { z } from "zod";
import { AssistantPart, ToolResult, UserPart } from "./part.ts";

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
