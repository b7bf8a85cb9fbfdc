import { errorMessage } from "@reins/kit";
import type { HistoryEntry } from "../history/entry.ts";
import { transcriptOf } from "../history/transcript.ts";
import type { ModelInfo } from "../models/model.ts";
import { tokensOf, tokensOfAll } from "../models/tokens.ts";
import { contextTokens, type Turn } from "../turn/turn.ts";
import { digestOf } from "./digest.ts";
import { summarize } from "./summarize.ts";

/** From which part of the room on the conversation is put together. */
const FULL = 0.85;
/** From which part of the room on that may be done while nobody waits. */
const HALF_FULL = 0.5;
/** Which part of the room is kept word for word. */
const KEPT = 0.3;

/** How many tokens a conversation may have, so that there is room for an answer. */
function roomFor({ contextTokens: all, maxOutputTokens }: ModelInfo): number {
  return Math.max(1_000, all - maxOutputTokens);
}

/** Whether a history has become so long that it is better put together before somebody waits for it. */
export function isHalfFull(entries: readonly HistoryEntry[], info: ModelInfo): boolean {
  return tokensOfAll(transcriptOf(entries)) > HALF_FULL * roomFor(info);
}

/** Puts the older part of a conversation into a summary when the room becomes short. */
export async function compactIfFull(turn: Turn): Promise<void> {
  if (contextTokens(turn) > FULL * roomFor(turn.setting.model.info)) await compact(turn);
}

/**
 * Puts the older part of a conversation into a summary, and says so. Whether there was anything to put away. At least
 * half of it goes: who says that it is too long may have less room than is known.
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

/** What a model makes of it, where one can, and always what must not be lost. */
async function summaryOf(turn: Turn, covered: readonly HistoryEntry[]): Promise<string> {
  const digest = digestOf(covered);
  const told = await summarize(turn, covered, digest);
  const room = Math.floor(KEPT * roomFor(turn.setting.model.info) * 4);
  return (told === undefined ? digest : `${told}\n\n${digest}`).slice(0, room);
}

/**
 * How many entries from the beginning are to be put into a summary, so that what is kept word for word has at most so
 * many tokens. Results stay with the calls they belong to. `undefined` when there is nothing to put away.
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
  // Not even the last message fits; then all of it is told in short.
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
