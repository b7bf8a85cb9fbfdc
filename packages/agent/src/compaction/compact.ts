import { errorMessage } from "@reins/kit";
import { type HistoryEntry, transcriptOf } from "../history/entry.ts";
import type { ModelInfo } from "../models/model.ts";
import { tokensOf, tokensOfAll } from "../models/tokens.ts";
import { contextTokens, type Turn } from "../turn/turn.ts";
import { digestOf } from "./digest.ts";
import { summarize } from "./summarize.ts";

/** The share of the context from which a turn compacts the conversation. */
const FULL = 0.85;
/** The share of the context from which an idle session is compacted. */
const HALF_FULL = 0.5;
/** The share of the context that is kept verbatim. */
const KEPT = 0.3;

/** The tokens that a conversation may have, with the model's output reserved. */
function roomFor({ contextTokens: all, maxOutputTokens }: ModelInfo): number {
  return Math.max(1_000, all - maxOutputTokens);
}

/** Whether a history is long enough to be compacted while the session is idle. */
export function isHalfFull(entries: readonly HistoryEntry[], info: ModelInfo): boolean {
  return tokensOfAll(transcriptOf(entries)) > HALF_FULL * roomFor(info);
}

/** Compacts the conversation when the context is nearly full. */
export async function compactIfFull(turn: Turn): Promise<void> {
  if (contextTokens(turn) > FULL * roomFor(turn.setting.model.info)) await compact(turn);
}

/**
 * Replaces the older part of a conversation by a summary and returns whether there was one. At least half is replaced:
 * a model that rejects the length may have a smaller context than known.
 */
export async function compact(turn: Turn): Promise<boolean> {
  const { entries, emit, keep, newId, model } = turn.setting;
  const covers = coveredCount(entries, Math.min(KEPT * roomFor(model.info), tokensOfAll(turn.messages) / 2));
  if (covers === undefined) return false;
  const id = `compaction_${newId()}`;
  await emit({ type: "compaction", id, status: "in_progress" });
  try {
    const summary = await summaryOf(turn, entries.slice(0, covers));
    await keep({ kind: "compaction", ...turn.mark, summary, covers });
    await emit({ type: "compaction", id, status: "completed", summary });
    return true;
  } catch (error) {
    const status = turn.signal.aborted ? "cancelled" : "failed";
    await emit({
      type: "compaction",
      id,
      status,
      error: errorMessage(error),
    });
    throw error;
  }
}

/** The model's summary, where there is one, and the digest. */
async function summaryOf(turn: Turn, covered: readonly HistoryEntry[]): Promise<string> {
  const digest = digestOf(covered);
  const summary = await summarize(turn, covered, digest);
  const room = Math.floor(KEPT * roomFor(turn.setting.model.info) * 4);
  return (summary === undefined ? digest : `${summary}\n\n${digest}`).slice(0, room);
}

/**
 * How many entries from the start a summary has to cover so that the rest fits into a number of tokens; `undefined` for
 * none. Results stay with their calls.
 */
export function coveredCount(entries: readonly HistoryEntry[], keptTokens: number): number | undefined {
  const before = entries.findLast((entry) => entry.kind === "compaction")?.covers ?? 0;
  let cut: number | undefined;
  let tokens = 0;
  for (let index = entries.length - 1; index >= before; index -= 1) {
    const entry = entries[index];
    if (entry === undefined) break;
    tokens += tokensOfEntry(entry);
    if (tokens > keptTokens) break;
    if (entry.kind === "user" || entry.kind === "assistant") cut = index;
  }
  // Not even the last message fits: cover everything.
  const covers = cut ?? entries.length;
  const covered = entries.slice(before, covers).some(({ kind }) => kind === "user" || kind === "assistant");
  return covered ? covers : undefined;
}

function tokensOfEntry(entry: HistoryEntry): number {
  if (entry.kind === "results") return tokensOf({ role: "tool", results: entry.results });
  return transcriptOf([entry])
    .filter(({ role }) => role === "user" || role === "assistant")
    .reduce((sum, message) => sum + tokensOf(message), 0);
}
