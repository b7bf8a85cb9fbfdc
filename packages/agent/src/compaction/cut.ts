import type { HistoryEntry } from "../history/entry.ts";
import { transcriptOf } from "../history/transcript.ts";
import { tokensOf } from "../models/tokens.ts";

/**
 * How many entries from the beginning are to be put into a summary, so that what is kept word for word has at most so
 * many tokens. Results stay with the calls they belong to. `undefined` when there is nothing to put away.
 */
export function cutFor(entries: readonly HistoryEntry[], keptTokens: number): number | undefined {
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
