import type { AssistantPart, EntryOf, HistoryEntry, ToolResult, UserPart } from "./entry.ts";

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
