import { isObject, parseObject } from "@reins/acp";
import type { HistoryEntry } from "../history/entry.ts";

const MAX_PROMPTS = 20;
const MAX_CALLS = 60;
const PROMPT_LENGTH = 300;
const LAST_PROMPT_LENGTH = 4_000;
const OUTCOME_LENGTH = 160;
const SAID_LENGTH = 1_500;
const EARLIER_LENGTH = 6_000;

/**
 * Extracts from a history, without a model, what a summary must not lose: prompts, calls and outcomes, refusals,
 * changed files, the plan and the last text.
 */
export function digestOf(entries: readonly HistoryEntry[]): string {
  const withdrawn = new Set(entries.filter(({ kind }) => kind === "withdrawn").map(({ turn }) => turn));
  const kept = entries.filter(({ turn }) => !withdrawn.has(turn));
  const calls = callsIn(kept);
  return [
    section("Earlier", earlierIn(kept)),
    section("Asked by the person", promptsIn(kept)),
    section(
      "Done",
      calls.slice(-MAX_CALLS).map(({ line }) => line),
    ),
    section(
      "Not allowed, and not to be tried in another way",
      calls.flatMap(({ refused }) => refused),
    ),
    section("Files changed", [...new Set(calls.flatMap(({ changed }) => changed))]),
    section("The plan", planIn(calls)),
    section("Said last", lastTextIn(kept)),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}

interface DigestedCall {
  readonly name: string;
  readonly given: Record<string, unknown>;
  readonly line: string;
  readonly refused: readonly string[];
  readonly changed: readonly string[];
}

const CHANGES: ReadonlySet<string> = new Set(["write_file", "edit_file", "delete_file"]);

function callsIn(entries: readonly HistoryEntry[]): readonly DigestedCall[] {
  const outcomes = new Map(
    entries.flatMap((entry) =>
      entry.kind === "results" ? entry.results.map((one) => [one.call, one] as const) : [],
    ),
  );
  return entries.flatMap((entry) => {
    if (entry.kind !== "assistant") return [];
    return entry.parts.flatMap((part) => {
      if (part.type !== "call") return [];
      const outcome = outcomes.get(part.id);
      const given = parseObject(part.arguments);
      const result = outcome === undefined ? "unknown outcome" : oneLine(outcome.text, OUTCOME_LENGTH);
      const line = `${part.name} ${oneLine(mainArgument(given), 120)}: ${outcome?.isError ? "failed, " : ""}${result}`;
      const refused = outcome?.text.startsWith("Not allowed") ? [line] : [];
      const changed = CHANGES.has(part.name) && outcome?.isError === false ? [mainArgument(given)] : [];
      return [{ name: part.name, given, line, refused, changed }];
    });
  });
}

function mainArgument({ path, command, query, prompt, to, pattern }: Record<string, unknown>): string {
  return String(path ?? command ?? query ?? prompt ?? to ?? pattern ?? "");
}

function promptsIn(entries: readonly HistoryEntry[]): readonly string[] {
  const prompts = entries.flatMap((entry) => {
    if (entry.kind !== "user") return [];
    const words = entry.parts
      .flatMap((part) => (part.type === "text" && !part.context ? [part.text] : []))
      .join(" ");
    return words === "" ? [] : [words];
  });
  const last = prompts.at(-1);
  return [
    ...prompts.slice(-MAX_PROMPTS, -1).map((words) => oneLine(words, PROMPT_LENGTH)),
    ...(last === undefined ? [] : [`last: ${last.slice(0, LAST_PROMPT_LENGTH)}`]),
  ];
}

function earlierIn(entries: readonly HistoryEntry[]): readonly string[] {
  const earlier = entries.findLast((entry) => entry.kind === "compaction");
  return earlier === undefined ? [] : [earlier.summary.slice(0, EARLIER_LENGTH)];
}

function planIn(calls: readonly DigestedCall[]): readonly string[] {
  const { given } = calls.findLast(({ name }) => name === "update_plan") ?? {};
  const entries = Array.isArray(given?.entries) ? given.entries : [];
  return entries.filter(isObject).map(({ content, status }) => `${String(content)} (${String(status)})`);
}

function lastTextIn(entries: readonly HistoryEntry[]): readonly string[] {
  const last = entries.findLast(
    (entry) => entry.kind === "assistant" && entry.parts.some(({ type }) => type === "text"),
  );
  if (last?.kind !== "assistant") return [];
  const text = last.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return [text.slice(-SAID_LENGTH)];
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [`## ${title}`, ...lines.map((line) => `- ${line}`)].join("\n");
}

function oneLine(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length)}…`;
}
