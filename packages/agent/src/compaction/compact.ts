import { isObject, parseObject } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import { type HistoryEntry, type Message, type TokenUsage, transcriptOf } from "../history/entry.ts";
import { ModelError, type ModelInfo } from "../models/model.ts";
import { charactersFor, tokensIn, tokensOf, tokensOfAll, totalOf } from "../models/tokens.ts";
import { IdleTimeout } from "../turn/ask-model.ts";
import { contextTokens, type Turn } from "../turn/turn.ts";

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

const SYSTEM =
  "You put a conversation between a person and an agent into a summary that the agent will go on from. Say what the person wants, what was decided and why, what was found out, what is done and what is left. Keep names, paths, commands and numbers exact. Write nothing else.";

/** Tokens have about four characters; half of the context is reserved for output and error of estimate. */
const CHARACTERS_PER_TOKEN = 2;
const MAX_SUMMARY = 8_000;

/** A summary by the model; `undefined` when it cannot summarise, fails or is not permitted. */
async function summarize(
  turn: Turn,
  covered: readonly HistoryEntry[],
  digest: string,
): Promise<string | undefined> {
  const { sessionId } = turn.setting;
  const { model } = turn;
  if (!model.info.summarises) return undefined;
  const text = `${conversationIn(covered, model.info.contextTokens * CHARACTERS_PER_TOKEN)}\n\n${digest}`;
  const decision = await turn.ask("pre_prompt", {
    session_id: sessionId,
    prompt: text,
    message_count: 1,
    model: model.info.id,
    request: 0,
    tokens_used: totalOf(turn.usage),
    purpose: "compaction",
  });
  if (decision.decision !== "allow") return undefined;
  try {
    return await answerTo(turn, text);
  } catch (error) {
    turn.signal.throwIfAborted();
    if (!(error instanceof ModelError)) throw error;
    turn.setting.onFault(error);
    return undefined;
  }
}

async function answerTo(turn: Turn, text: string): Promise<string | undefined> {
  const { limits } = turn.setting;
  const { model } = turn;
  const timeout = new IdleTimeout(limits.quietMs, `${model.info.id} sent nothing for too long`);
  let output = "";
  let usage: TokenUsage | undefined;
  const request = {
    system: SYSTEM,
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text }] }],
    tools: [],
    thoughtLevel: "default" as const,
  };
  try {
    timeout.restart();
    for await (const event of model.stream(request, AbortSignal.any([turn.signal, timeout.signal]))) {
      timeout.restart();
      if (event.type === "text") output += event.text;
      if (event.type === "usage") usage = event.usage;
      if (output.length > MAX_SUMMARY) break;
    }
  } finally {
    timeout.cancel();
    if (usage || output !== "")
      await turn.charge(usage ?? { inputTokens: tokensIn(text), outputTokens: tokensIn(output) });
  }
  return output.trim() === "" ? undefined : output.slice(0, MAX_SUMMARY).trim();
}

/** A conversation as text; the middle is left out when it is too long. */
function conversationIn(entries: readonly HistoryEntry[], characters: number): string {
  const text = transcriptOf(entries)
    .map((message) =>
      message.role === "tool"
        ? message.results.map(({ name, text: output }) => `[${name}] ${output}`).join("\n")
        : `${message.role}: ${message.parts.map(lineOf).join("\n")}`,
    )
    .join("\n\n");
  if (text.length <= characters) return text;
  const half = Math.floor(characters / 2);
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`;
}

function lineOf(part: {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly arguments?: string;
}): string {
  if (part.type === "call") return `calls ${part.name} ${part.arguments}`;
  return part.type === "text" ? (part.text ?? "") : `[${part.type}]`;
}

/** The share of the context from which a turn compacts the conversation. */
const FULL = 0.85;
/** The share of the context from which an idle session is compacted. */
const HALF_FULL = 0.5;
/** The fewest tokens of a transcript: the request of the user, and what came last. */
const LEAST_TRANSCRIPT = 1_000;
/** The share of the context that is kept verbatim. */
const KEPT = 0.3;

/** The tokens that a conversation may have, with the model's output reserved. */
function roomFor({ contextTokens: all, maxOutputTokens }: ModelInfo): number {
  return Math.max(1_000, all - maxOutputTokens);
}

/** The characters that a transcript in place of the conversation may have beside a system prompt and messages. */
export function transcriptRoom(info: ModelInfo, system: string, messages: readonly Message[]): number {
  const beside = tokensIn(system) + tokensOfAll(messages);
  return charactersFor(Math.max(LEAST_TRANSCRIPT, FULL * roomFor(info) - beside));
}

/** Whether a history is long enough to be compacted while the session is idle. */
export function isHalfFull(entries: readonly HistoryEntry[], info: ModelInfo): boolean {
  return tokensOfAll(transcriptOf(entries)) > HALF_FULL * roomFor(info);
}

/** Compacts the conversation when the context is nearly full. */
export async function compactIfFull(turn: Turn): Promise<void> {
  if (contextTokens(turn) > FULL * roomFor(turn.model.info)) await compact(turn);
}

/**
 * Replaces the older part of a conversation by a summary and returns whether there was one. At least half is replaced:
 * a model that rejects the length may have a smaller context than known.
 */
export async function compact(turn: Turn): Promise<boolean> {
  const { entries, emit, keep, newId } = turn.setting;
  const { model } = turn;
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
  const room = Math.floor(KEPT * roomFor(turn.model.info) * 4);
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
