import { isRecord } from "@reins/kit";
import { z } from "zod";
import type { GraphAction } from "../declaration/graph.ts";
import { readMarkdown } from "../declaration/markdown.ts";
import { nodeRequest } from "../view/transcript.ts";

/** An action bound to the agent or the person that executes it: with which authority, on what, and for what. */
export interface Assignment {
  readonly run: string;
  readonly action: string;
  /** The executor, by its type and name. */
  readonly executor: string;
  readonly authority: Authority;
  readonly goal: string;
  /** The context bundle: what the action refers to. */
  readonly context_refs: readonly string[];
  /** Members that its result has to have. */
  readonly expected_outputs: readonly string[];
  /** What earlier assignments left to be continued. */
  readonly handoffs: readonly Handoff[];
  /** The agents that it depends on whose results it is not given: they are withheld from those who would see them. */
  readonly withheld: readonly string[];
  /** What was noted with decisions about it. */
  readonly notes: readonly string[];
}

/** What an executing agent may do at most; the rules for its own acts apply within. */
export interface Authority {
  /** For whom it acts. */
  readonly principal: string;
  /** The only tools it may use; all that policy permits where absent. */
  readonly tools?: readonly string[] | undefined;
  readonly reads?: readonly string[] | undefined;
  readonly writes?: readonly string[] | undefined;
  readonly budget?: { readonly tokens?: number | undefined; readonly calls?: number | undefined } | undefined;
}

const MOST_TEXTS = 100;
const LONGEST_TEXT = 10_000;
const LONGEST_SUMMARY = 20_000;
const Text = z.string().max(LONGEST_TEXT);
const Texts = z.array(Text).max(MOST_TEXTS);

/** What an executor says of its work beside the result. */
export interface AgentReport {
  readonly result_summary?: string | undefined;
  readonly evidence: readonly string[];
  readonly artifact_refs: readonly string[];
  readonly risks: readonly string[];
  readonly unresolved_issues: readonly string[];
  /** How the answer differs from what was asked for. */
  readonly faults: readonly string[];
}

/** What one executor leaves to the next so that it can continue in a session of its own. */
export interface Handoff extends Omit<AgentReport, "result_summary" | "faults"> {
  readonly from: { readonly run: string; readonly action: string; readonly session?: string | undefined };
  readonly result_summary: string;
  readonly next_goal: string;
  readonly constraints: readonly string[];
  readonly dependencies: readonly string[];
}

const INFO = "json agent-report";

/** The members that the result of an action has to have: those its policy names, and what its loop looks at. */
export function expectedOutputs({ result, loop }: Pick<GraphAction, "result" | "loop">): readonly string[] {
  const wanted = result.return_to_model === "structured" ? result.priority : [];
  const { until } = loop ?? {};
  return [...new Set([...wanted, ...(until && "field" in until ? [until.field] : [])])];
}

/** What an agent is asked to answer. */
function reportRequest(expected: readonly string[]): string {
  const result =
    expected.length === 0 ? "your result" : `a JSON object with the members ${expected.join(", ")}`;
  return [
    `Answer with ${result}. End the answer with a report for those who go on with it, of which you may leave out any member:`,
    `\`\`\`${INFO}`,
    '{ "result_summary": "…", "evidence": ["…"], "artifact_refs": ["…"], "risks": ["…"], "unresolved_issues": ["…"] }',
    "```",
  ].join("\n");
}

/** Reads what an agent answered: its result, as the value where that is JSON, and its report. */
export function readAnswer(
  answer: string,
  expected: readonly string[],
): { readonly output: unknown; readonly report: AgentReport } {
  const lines = answer.split(/\r\n|\n|\r/);
  const last = readMarkdown(answer).blocks.at(-1);
  const ends = last !== undefined && lines.slice(last.end).every((line) => line.trim() === "");
  const block = ends && last.info.replace(/\s+/g, " ") === INFO ? last : undefined;
  const said = block ? lines.slice(0, block.first).join("\n").trim() : answer;
  const value = structured(said);
  const reported = block ? structured(block.content) : value;
  // Where it reports alone, that is the result.
  const output = block && said === "" ? reported : value;
  const faults = [
    ...(block && !isRecord(reported) ? ["the report is no JSON object"] : []),
    ...expected
      .filter((name) => !hasMember(output, name.split(".")))
      .map((name) => `the result has no ${name}`),
  ];
  return { output, report: reportIn(isRecord(reported) ? reported : {}, faults, block !== undefined) };
}

function reportIn(
  said: Readonly<Record<string, unknown>>,
  known: readonly string[],
  isOwn: boolean,
): AgentReport {
  const faults = [...known];
  const read = <Value>(name: string, schema: z.ZodType<Value>): Value | undefined => {
    if (said[name] === undefined) return undefined;
    const parsed = schema.safeParse(said[name]);
    // A result of another form may have members of these names.
    if (!parsed.success && isOwn) faults.push(`${name} of the report is not as it has to be`);
    return parsed.data;
  };
  const result_summary = read("result_summary", z.string().max(LONGEST_SUMMARY));
  return {
    ...(result_summary !== undefined && { result_summary }),
    evidence: read("evidence", Texts) ?? [],
    artifact_refs: read("artifact_refs", Texts) ?? [],
    risks: read("risks", Texts) ?? [],
    unresolved_issues: read("unresolved_issues", Texts) ?? [],
    faults,
  };
}

/** A report as models and people are shown it beside the result; empty where it says nothing. */
export function reportText({
  evidence,
  artifact_refs,
  risks,
  unresolved_issues,
  faults,
}: AgentReport): string {
  return listText([
    ["Evidence", evidence],
    ["Artifacts", artifact_refs],
    ["Risks", risks],
    ["Unresolved issues", unresolved_issues],
    ["Not as it was asked for", faults],
  ]);
}

/** What an answer is summed up by: its own summary, else all that it says, with what it reports beside that. */
export function answerSummary(answer: string, report: AgentReport): string {
  const own = report.result_summary;
  if (own === undefined) return answer;
  return [own, reportText(report)].filter((text) => text !== "").join("\n\n");
}

/** The texts of what an assignment refers to. */
export interface AssignedTexts {
  readonly context: readonly string[];
  readonly task: string;
  /** Structured values for the task. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
}

/** The request to the agent of an assignment: its context, with handoffs, limits and what to report, then its task. */
export function assignmentText(assignment: Assignment, { context, task, input }: AssignedTexts): string {
  const { run, action, authority, expected_outputs } = assignment;
  const limits = authorityText(authority);
  const parts = [
    ...context,
    ...backgroundTexts(assignment),
    ...(limits === "" ? [] : [limits]),
    ...(input && Object.keys(input).length > 0 ? [`Input:\n${JSON.stringify(input, null, 2)}`] : []),
    reportRequest(expected_outputs),
  ];
  return nodeRequest({ run, action }, { context: parts, task });
}

/** What the executor of an assignment is given of the work before it: handoffs, what is withheld, and notes. */
export function backgroundTexts({
  handoffs,
  withheld,
  notes,
}: Pick<Assignment, "handoffs" | "withheld" | "notes">): readonly string[] {
  return [
    ...handoffs.map(handoffText),
    ...(withheld.length === 0 ? [] : [`Withheld: the results of ${withheld.join(", ")}.`]),
    ...notes.map((note) => `Noted with a decision about this action: ${note}`),
  ];
}

/** A handoff as the next executor reads it. */
function handoffText(handoff: Handoff): string {
  const { from } = handoff;
  const lists = listText([
    ["Evidence", handoff.evidence],
    ["Artifacts", handoff.artifact_refs],
    ["Risks", handoff.risks],
    ["Unresolved issues", handoff.unresolved_issues],
    ["Constraints", handoff.constraints],
    ["Dependencies", handoff.dependencies],
  ]);
  return [
    `Handoff from ${from.action} of run ${from.run}`,
    `Result: ${handoff.result_summary}`,
    ...(lists === "" ? [] : [lists]),
    `Next goal: ${handoff.next_goal}`,
  ].join("\n\n");
}

function listText(lists: readonly (readonly [name: string, items: readonly string[]])[]): string {
  return lists
    .flatMap(([name, items]) =>
      items.length === 0 ? [] : [[`${name}:`, ...items.map((item) => `- ${item}`)].join("\n")],
    )
    .join("\n\n");
}

function authorityText({ tools, reads, writes, budget }: Authority): string {
  const most = [
    ...(budget?.tokens === undefined ? [] : [`${budget.tokens} tokens`]),
    ...(budget?.calls === undefined ? [] : [`${budget.calls} calls`]),
  ];
  return [
    ...(tools ? [`You may use these tools only: ${tools.join(", ") || "none"}.`] : []),
    ...(reads && reads.length > 0 ? [`You are to read: ${reads.join(", ")}.`] : []),
    ...(writes ? [`You may write: ${writes.join(", ") || "nothing"}.`] : []),
    ...(most.length === 0 ? [] : [`You have at most ${most.join(" and ")}.`]),
  ].join("\n");
}

/** What an agent said, as the value where it is JSON. */
function structured(text: string): unknown {
  const source = jsonIn(text.trim());
  if (source === undefined) return text;
  try {
    return JSON.parse(source);
  } catch {
    return text;
  }
}

function jsonIn(text: string): string | undefined {
  if (text.startsWith("{") || text.startsWith("[")) return text;
  const [block, ...others] = readMarkdown(text).blocks;
  const isAll = block?.info === "json" && others.length === 0 && text.startsWith("`") && text.endsWith("`");
  return isAll ? block.content : undefined;
}

function hasMember(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  return isRecord(value) && Object.hasOwn(value, name) && hasMember(value[name], rest);
}
