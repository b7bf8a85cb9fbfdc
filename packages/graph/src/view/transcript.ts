import type { Status } from "../declaration/grammar.ts";
import type { Graph, GraphAction } from "../declaration/graph.ts";
import { fenced } from "../declaration/markdown.ts";
import type { Reference } from "../declaration/reference.ts";
import type { ActionState } from "../run/progress.ts";
import type { Expanded } from "./expand.ts";
import { CHARACTERS, cutText, type ObservationLimits, observe } from "./observation.ts";
import { endedCounts } from "./projection.ts";

/** One thing that happened, as a model is shown it. */
export type TranscriptTurn =
  | { readonly kind: "user"; readonly text: string }
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "error"; readonly text: string }
  /** A part of a stored result that the model asked for. */
  | {
      readonly kind: "expansion";
      readonly ref: string;
      readonly text: string;
      readonly isCut: boolean;
      /** Which of its lines these are. */
      readonly lines?: Expanded["lines"];
    }
  | RunTurn;

/** A declaration, and what came of it. */
export interface RunTurn {
  readonly kind: "run";
  readonly run: string;
  readonly graph: Graph;
  readonly status: Status;
  readonly reason?: string | undefined;
  readonly states: readonly ActionState[];
  /** The declaration in the protocol's own form, as the model wrote it. */
  readonly declaration: string;
  /** Whether it came by the carrier, whose calls name tools and agents with their arguments. */
  readonly isCarrier: boolean;
  /** What people changed in it, in words. */
  readonly controls?: readonly string[] | undefined;
  /** What the model is to do next, where only it can decide. */
  readonly next?: string | undefined;
}

/** How much of past declarations a model is shown. */
export interface TranscriptOptions extends ObservationLimits {
  /** In place of what each declaration asks for. */
  readonly mode?: "full" | "compressed" | "hybrid";
  /** For `hybrid`: how many of the newest runs are shown in full, and up to which length of their declaration. */
  readonly recent?: number;
  readonly short?: number;
  /** The most characters of all turns together. What does not fit is shown in short, or left out: the oldest first. */
  readonly most?: number | undefined;
  /** Which turns are shown, by their position; all if absent. */
  readonly shows?: ((index: number) => boolean) | undefined;
}

const CLOSING = [
  "Based on all turns above, decide the next step.",
  "Strictly follow the Agent Protocol output requirements for this request.",
].join("\n");
const RECENT = 2;
const SHORT = 8_000;
/** Where the window of the model is not known: some 60,000 tokens, for which most have room. */
const MOST = 240_000;
/** The characters around a turn. */
const TAGS = 40;
/** The most characters of a text of which the beginning alone is shown. */
const BEGINNING = 500;

/** The request of the runtime to the model: what happened, turn by turn, and that it is to decide the next step. */
export function transcript(turns: readonly TranscriptTurn[], options: TranscriptOptions): string {
  const { recent = RECENT, short = SHORT } = options;
  const runs = turns.filter((turn) => turn.kind === "run");
  const inFull = new Set(runs.slice(-recent).filter(({ declaration }) => declaration.length <= short));
  /** The runs whose declarations are shown: one that was changed since is shown again without its own. */
  const declared = new Set<string>();
  const shown = turns.flatMap((turn, index): ShownTurn[] => {
    if (options.shows?.(index) === false) return [];
    const mode = turn.kind === "run" ? (options.mode ?? turn.graph.replay) : "full";
    const isFull = turn.kind === "run" && (mode === "full" || (mode === "hybrid" && inFull.has(turn)));
    const isDeclared = isFull && !turn.isCarrier && turn.declaration !== "" && !declared.has(turn.run);
    if (isDeclared) declared.add(turn.run);
    const how = { isFull, isDeclared };
    return [{ index, turn, how, body: bodyOf(turn, how, options) }];
  });
  const fitting = fit(shown, options);
  const missing = shown.length - fitting.length;
  return [
    ...(missing === 0 ? [] : [`${missing} earlier turns are left out.`]),
    ...fitting.map(({ index, body }) => `<turn index="${index + 1}">\n${body}\n</turn>`),
    CLOSING,
  ].join("\n\n");
}

/** A turn, and what is shown of it. */
interface ShownTurn {
  readonly index: number;
  readonly turn: TranscriptTurn;
  readonly how: Shown;
  readonly body: string;
}

/** As much of some turns as there is room for: the newest as they are, the oldest in short or not at all. */
function fit(shown: readonly ShownTurn[], options: TranscriptOptions): readonly ShownTurn[] {
  const { most = MOST } = options;
  if (shown.reduce((sum, { body }) => sum + body.length + TAGS, 0) <= most) return shown;
  // What the user asked for last is what all the rest is about.
  const asked = shown.findLast(({ turn }) => turn.kind === "user");
  const request = asked && cutText(asked.body, Math.floor(most / 4));
  let left = most - (request?.length ?? 0);
  const fitting = shown.toReversed().flatMap((one): ShownTurn[] => {
    if (one === asked) return [{ ...one, body: request ?? "" }];
    const body = bodyWithin(one, { left, short: Math.floor(most / 4) }, options);
    if (body === undefined) return [];
    left -= body.length + TAGS;
    return [{ ...one, body }];
  });
  return fitting.reverse();
}

/**
 * What is shown of a turn in the characters that are left, of which some are for short forms; `undefined` where not even
 * that has room.
 */
function bodyWithin(
  { turn, how, body }: ShownTurn,
  { left, short: kept }: { readonly left: number; readonly short: number },
  options: TranscriptOptions,
): string | undefined {
  const most = left - kept;
  if (body.length <= most) return body;
  if (turn.kind === "run") {
    const withResults = (tokens: number) => {
      const maxTokens = Math.min(turn.graph.maxTokens ?? tokens, tokens);
      return runBody({ ...turn, graph: { ...turn.graph, maxTokens } }, how, options);
    };
    const room = most - withResults(0).length;
    if (room >= 0) return withResults(Math.floor(room / CHARACTERS));
  }
  const short = shortBody(turn);
  return short.length <= left ? short : undefined;
}

/** A turn that is long past. */
function shortBody(turn: TranscriptTurn): string {
  switch (turn.kind) {
    case "expansion":
      return `## Expanded reference\n\nReference: \`${oneLine(turn.ref)}\`\n\nIt is not shown any more; expand it again where it is needed.`;
    case "run": {
      const { run, graph, states } = turn;
      const counts = endedCounts(graph, new Map(states.map((state) => [state.id, state])));
      const head = [...headOf(turn), `Declaration: runtime://runs/${run}`, `Actions: ${counts.join(", ")}`];
      const more = `The results are not shown any more; expand runtime://runs/${run}/actions/<id>/output where one is needed.`;
      const next = turn.next === undefined ? [] : [`Next: ${oneLine(turn.next)}`];
      return [RUN_HEADING, head.join("\n"), more, ...next].join("\n\n");
    }
    default:
      return bodyOf({ ...turn, text: cutText(turn.text, BEGINNING) }, WHOLE, { maxTokens: 0 });
  }
}

const RUN_HEADING = "## Assistant protocol request and runtime observations";
const WHOLE: Shown = { isFull: true, isDeclared: false };

/** How much of a run is shown beside its results. */
interface Shown {
  /** Each call, in place of what it was for. */
  readonly isFull: boolean;
  /** The declaration, as the model wrote it: calls of the carrier are their own. */
  readonly isDeclared: boolean;
}

function bodyOf(turn: TranscriptTurn, how: Shown, options: TranscriptOptions): string {
  switch (turn.kind) {
    case "user":
      return `## User request\n\n${harmless(turn.text)}`;
    case "answer":
      return `## Assistant answer\n\n${harmless(turn.text)}`;
    case "error":
      return `## Protocol error\n\n${harmless(turn.text)}`;
    case "expansion": {
      const { ref, text, isCut, lines } = turn;
      const where = lines ? `These are lines ${lines.from} to ${lines.to} of ${lines.total}. ` : "";
      const more = isCut ? `\n\n${where}More of it is stored; ask for another range where it is needed.` : "";
      return `## Expanded reference\n\nReference: \`${oneLine(ref)}\`\n\n${quoted(text, "md")}${more}`;
    }
    case "run":
      return runBody(turn, how, options);
  }
}

/** A run: each call together with its result. */
function runBody(turn: RunTurn, { isFull, isDeclared }: Shown, options: TranscriptOptions): string {
  const { run, graph, states, next } = turn;
  const byId = new Map(states.map((state) => [state.id, state]));
  const head = [
    ...headOf(turn),
    ...(isFull ? [] : [`Declaration: runtime://runs/${run}`]),
    ...(turn.controls ?? []).map((text) => `Changed: ${oneLine(text)}`),
  ];
  let left = graph.maxTokens ?? Number.POSITIVE_INFINITY;
  const calls = graph.actions.flatMap((action) => {
    const state = byId.get(action.id);
    const call = `### Call ${action.id}\n\n${isFull ? callOf(turn, action) : digestOf(action)}`;
    if (!state) return [call];
    const result = resultOf(turn, action, state, { maxTokens: Math.min(options.maxTokens, left) });
    left = Math.max(0, left - Math.ceil(result.length / CHARACTERS));
    return [call, result];
  });
  const declaration = isDeclared ? [`### Declaration\n\n${quoted(turn.declaration, "md")}`] : [];
  const parts = [RUN_HEADING, head.join("\n"), ...declaration, ...calls];
  return [...parts, ...(next === undefined ? [] : [`Next: ${oneLine(next)}`])].join("\n\n");
}

function headOf({ run, graph, status, reason }: RunTurn): readonly string[] {
  return [
    `run_id: \`${run}\``,
    ...(graph.title === "" ? [] : [`Purpose: ${oneLine(graph.title)}`]),
    `Status: ${aggregate(status)}`,
    ...(status === "completed" || reason === undefined ? [] : [`Reason: ${oneLine(reason)}`]),
  ];
}

/** The model knows three outcomes; a canceled run has failed, and says so in its reason. */
function aggregate(status: Status): "completed" | "blocked" | "failed" {
  if (status === "completed") return "completed";
  return status === "failed" || status === "canceled" ? "failed" : "blocked";
}

function callOf(
  { isCarrier, run }: RunTurn,
  { id, executor, operation, dependsOn, prompt, input: given }: GraphAction,
): string {
  const { type = "auto", target } = executor;
  const depends = dependsOn.length === 0 ? [] : [`Depends: ${dependsOn.map((id) => `\`${id}\``).join(", ")}`];
  const named = isCarrier
    ? [`${type === "agent" ? "Agent" : "Tool"}: \`${target}\``]
    : [
        `Executor: \`${type}:${target}\``,
        ...(operation === undefined ? [] : [`Operation: \`${oneLine(operation)}\``]),
      ];
  const reference = type === "agent" && prompt ? nameOf(prompt) : "";
  // As in the specification, a section that has the name of its action is not named again.
  const prompts =
    reference === "" || reference === `md:${id}.prompt` ? [] : [`Prompt: \`${oneLine(reference)}\``];
  const head = [...named, ...depends, ...prompts].join("\n");
  // The declaration has the prompt of an agent.
  const isPrompted = type === "agent" && typeof given?.prompt === "string";
  const input = isPrompted ? { ...given, prompt: { $ref: `runtime://runs/${run}` } } : given;
  if (input === undefined && !isCarrier) return head;
  const args = JSON.stringify(input ?? {}, null, 2);
  return [head, quoted(`${type} ${target} <<'JSON'\n${args}\nJSON`, "shell")].join("\n\n");
}

/** A prompt as its declaration names it. */
function nameOf(prompt: Reference): string {
  return prompt.kind === "section"
    ? `md:${prompt.id}`
    : prompt.kind === "input"
      ? `input:${prompt.path.join(".")}`
      : "";
}

/** What an action was for, where its declaration is not shown. */
function digestOf({ title, description, reason }: GraphAction): string {
  return [title, description, reason]
    .filter((text) => text !== undefined)
    .map((text) => cutText(oneLine(text), BEGINNING))
    .join("\n");
}

function resultOf(
  { run, isCarrier, graph: { partialResults }, status: runStatus }: RunTurn,
  action: GraphAction,
  state: ActionState,
  limits: ObservationLimits,
): string {
  const isWithheld = partialResults === "withhold" && runStatus === "failed";
  const { text, hasReference } = isWithheld
    ? { text: undefined, hasReference: false }
    : observe(action, state, limits);
  const artifact = isCarrier ? `artifact://call_${action.id}` : `artifact://${run}/${action.id}`;
  const head = [`Status: ${state.status}`, ...(hasReference ? [`Artifacts: ${artifact}`] : [])].join("\n");
  const parts = [
    `### Result for ${action.id}`,
    head,
    ...(text === undefined || text === "" ? [] : [quoted(text, "md")]),
  ];
  return parts.join("\n\n");
}

/** What an executing agent is asked: its context, then its task. */
export function nodeRequest(
  { run, action }: { readonly run: string; readonly action: string },
  { context, task }: { readonly context: readonly string[]; readonly task: string },
): string {
  const inside = (text: string) =>
    indented(text.replace(/<(\/?)(node-request|context|task)\b/gi, "&lt;$1$2"));
  return [
    `<node-request run_id="${run}" action_id="${action}">`,
    ...(context.length === 0 ? [] : ["  <context>", ...context.map(inside), "  </context>"]),
    "  <task>",
    inside(task),
    "  </task>",
    "</node-request>",
  ].join("\n");
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `    ${line}`))
    .join("\n");
}

/** A quoted text in a block of its own. */
function quoted(text: string, info: string): string {
  return fenced(harmless(text), info);
}

/** A text that cannot end its turn or begin another. */
function harmless(text: string): string {
  return text.replace(/<(\/?)turn\b/gi, "&lt;$1turn");
}

function oneLine(text: string): string {
  return harmless(text.replace(/\s+/g, " ").trim());
}
