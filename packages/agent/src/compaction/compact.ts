import type { HistoryEntry } from "../history/entry.ts";
import { transcriptOf } from "../history/transcript.ts";
import type { ModelInfo } from "../models/model.ts";
import { tokensOfAll } from "../models/tokens.ts";
import { contextTokens } from "../turn/context-tokens.ts";
import type { Turn } from "../turn/turn.ts";
import { cutFor } from "./cut.ts";
import { digestOf } from "./digest.ts";
import { narrate } from "./narrate.ts";

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
  const covers = cutFor(entries, Math.min(KEPT * roomFor(model.info), tokensOfAll(turn.messages) / 2));
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
      error: error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
}

/** What a model makes of it, where one can, and always what must not be lost. */
async function summaryOf(turn: Turn, covered: readonly HistoryEntry[]): Promise<string> {
  const digest = digestOf(covered);
  const told = await narrate(turn, covered, digest);
  const room = Math.floor(KEPT * roomFor(turn.setting.model.info) * 4);
  return (told === undefined ? digest : `${told}\n\n${digest}`).slice(0, room);
}
