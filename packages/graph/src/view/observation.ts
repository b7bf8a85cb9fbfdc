import { isRecord } from "@reins/kit";
import type { ResultPolicy } from "../declaration/grammar.ts";
import type { GraphAction } from "../declaration/graph.ts";
import { reportText } from "../run/assignment.ts";
import type { ActionState } from "../run/progress.ts";

/** What a model is shown of a result. */
export interface Observation {
  /** Absent where the status alone is shown. */
  readonly text: string | undefined;
  /** Whether something was left out that is stored. */
  readonly isCut: boolean;
  /** Whether the reference to the full output is shown. */
  readonly hasReference: boolean;
}

/** What the runtime allows, whatever a policy asks for. */
export interface ObservationLimits {
  /** The most tokens of one result. */
  readonly maxTokens: number;
}

const NOTHING: Observation = { text: undefined, isCut: false, hasReference: false };
/** How many characters a token stands for, on average. */
export const CHARACTERS = 4;
const LINE = 200;
/** Longer texts are summed up by their beginning, their end and their size. */
const SUMMARY = 600;
/** The longest summary of a tool or an executor that is one. */
const OWN_SUMMARY = 2_400;
const BEGINNING = 300;
const END = 120;
const EXCERPT_CONTEXT = 2;

/**
 * What a model is shown of how an action ended. The policy of the action is a wish: what may not be seen is not shown,
 * and nothing is longer than the limit.
 */
export function observe(
  action: GraphAction,
  state: ActionState,
  { maxTokens }: ObservationLimits,
): Observation {
  const { result: policy, visibility } = action;
  if (!visibility.model) return { ...NOTHING, text: "The result is withheld from the model." };
  const { result, status, reason } = state;
  const most = Math.min(policy.max_tokens ?? maxTokens, maxTokens) * CHARACTERS;
  const isStored = policy.store_full && result !== undefined;
  if (status !== "completed" || !result) {
    if (policy.return_to_model === "none" || reason === undefined) return NOTHING;
    return { ...cut(reason, policy, most), hasReference: isStored };
  }
  const full = textOf(result.output);
  const { report } = result;
  const beside = report ? reportText(report) : "";
  const shown = (asked: string): Observation => {
    // A summary has it.
    const text = beside === "" || asked === result.summary ? asked : `${asked}\n\n${beside}`;
    // Of what does not fit, the summary says more than a beginning.
    const isSummed = text.length > most && policy.if_truncated === "provide_ref_and_summary";
    const { isCut, ...seen } = cut(isSummed ? result.summary : text, policy, most);
    return { ...seen, isCut: isCut || isSummed, hasReference: isStored };
  };
  switch (policy.return_to_model) {
    case "none":
      return NOTHING;
    case "on_failure":
      return { ...NOTHING, hasReference: isStored };
    case "on_demand":
      return { text: firstLine(result.summary), isCut: full.length > LINE, hasReference: isStored };
    case "summary":
      return { ...shown(result.summary), isCut: full.length > result.summary.length };
    case "structured":
      return shown(
        isRecord(result.output) || Array.isArray(result.output) ? pretty(result.output) : result.summary,
      );
    case "excerpt":
      return { ...shown(excerpt(full, policy.priority) ?? result.summary), isCut: true };
    case "full":
      return shown(full);
    case "adaptive":
      return shown(adapted(result.output, full, result.summary, policy.priority, most));
  }
}

/**
 * Whether a model is shown a summary of a result, and what the tool, the counts of the runtime and the executor say of it
 * does not fit: it is too long, or only how the output begins and ends.
 */
export function needsSummarizer(
  { result: policy, visibility }: GraphAction,
  { output, summary }: { readonly output: unknown; readonly summary?: string | undefined },
  { maxTokens }: ObservationLimits,
): boolean {
  const { return_to_model, max_tokens = maxTokens, if_truncated } = policy;
  // What a summarizer is given is in its session, which people see, and in the verdict on that.
  const isSeen = visibility.model && visibility.user && visibility.logs;
  if (!isSeen || return_to_model === "none" || return_to_model === "on_failure") return false;
  const isSummary = return_to_model === "summary" || return_to_model === "on_demand";
  const most = Math.min(max_tokens, maxTokens) * CHARACTERS;
  const isCut = textOf(output).length > most && if_truncated === "provide_ref_and_summary";
  if (!isSummary && !isCut) return false;
  const own = summary ?? ownSummary(output);
  const isShort = textOf(output).length <= SUMMARY;
  return !isShort && (own === undefined || own.length > Math.min(OWN_SUMMARY, most));
}

/** A summary of an output: its own where it has one, else what can be counted, and how it begins and ends. */
export function outputSummary(output: unknown): string {
  if (typeof output === "string") return summed(output);
  if (Array.isArray(output))
    return `${output.length} items${output.length > 0 ? `: ${cutText(JSON.stringify(output), LINE)}` : ""}`;
  if (!isRecord(output)) return textOf(output);
  const own = ownSummary(output);
  if (own !== undefined) return summed(own);
  return summed(
    Object.entries(output)
      .map(([name, value]) => `${name}: ${cutText(textOf(value), LINE)}`)
      .join("\n"),
  );
}

/** What an output says of itself. */
function ownSummary(output: unknown): string | undefined {
  if (!isRecord(output)) return undefined;
  const { summary, message, text } = output;
  return [summary, message, text].find((one): one is string => typeof one === "string" && one !== "");
}

function summed(text: string): string {
  if (text.length <= SUMMARY) return text;
  const lines = text.split("\n").length;
  const [beginning, end] = [text.slice(0, BEGINNING).toWellFormed(), text.slice(-END).toWellFormed()];
  return `${lines} lines, ${text.length} characters:\n${beginning}…\n…${end}`;
}

/** The text of an output. */
function textOf(output: unknown): string {
  if (typeof output === "string") return output;
  return output === undefined ? "" : pretty(output);
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

function firstLine(text: string): string {
  return cutText(text.split("\n", 1)[0] ?? "", LINE);
}

/** The beginning of a text that is too long, with its length. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}… (${text.length} characters)`;
}

function cut(text: string, { if_truncated }: ResultPolicy, most: number): Observation {
  if (text.length <= most) return { text, isCut: false, hasReference: false };
  if (if_truncated === "fail")
    return { text: `The result is longer than ${most} characters.`, isCut: true, hasReference: false };
  if (if_truncated === "provide_ref") return { text: undefined, isCut: true, hasReference: false };
  return { text: cutText(text, most), isCut: true, hasReference: false };
}

/** The lines that hold one of some words, with those around them. */
function excerpt(text: string, words: readonly string[]): string | undefined {
  const lines = text.split("\n");
  const wanted = words.map((word) => word.toLowerCase());
  const hits = lines.flatMap((line, index) =>
    wanted.some((word) => line.toLowerCase().includes(word)) ? [index] : [],
  );
  if (hits.length === 0) return undefined;
  const near = new Set(
    hits.flatMap((hit) =>
      Array.from({ length: 2 * EXCERPT_CONTEXT + 1 }, (_, offset) => hit - EXCERPT_CONTEXT + offset),
    ),
  );
  return lines.filter((_, index) => near.has(index)).join("\n");
}

/** As much as there is room for: the members or lines that matter most first, then the summary. */
function adapted(
  output: unknown,
  full: string,
  summary: string,
  priority: readonly string[],
  most: number,
): string {
  if (full.length <= most) return full;
  const parts: string[] = [];
  let room = most - summary.length;
  for (const name of priority) {
    const member =
      isRecord(output) && Object.hasOwn(output, name)
        ? `${name}: ${textOf(output[name])}`
        : excerpt(full, [name.replaceAll("_", " ")]);
    if (member === undefined || member.length > room) continue;
    parts.push(member);
    room -= member.length;
  }
  return [...parts, summary].join("\n\n");
}
