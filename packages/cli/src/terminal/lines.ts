import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { describeApproval } from "../commands/approvals/describe-approval.ts";
import { markdownLines } from "./markdown.ts";
import type { AskedQuestion, FinishedPart, NoteTone, PlanLine, State } from "./state.ts";
import { exactLine, prose, proseLine, type Style } from "./text.ts";
import type { CallView, ToolContent } from "./update-views.ts";

/** What lines are made for. */
export interface PageSize {
  readonly width: number;
  readonly style: Style;
  readonly now: () => Date;
}

/** Text of an agent begins here, so that none looks like a line of the terminal's own. */
const INDENT = "  ";
const MOST_LINES = 12;
const MOST_DIFF_LINES = 40;
const MOST_PROMPT_LINES = 40;
const CONTEXT = 2;
const LONGEST_LINE = 400;

/** The lines of a finished part of the conversation. None is wider than the page. */
export function partLines(part: FinishedPart, page: PageSize): readonly string[] {
  return fitted(rawLines(part, page), page.width);
}

function rawLines(part: FinishedPart, page: PageSize): readonly string[] {
  const { style } = page;
  switch (part.kind) {
    case "prompt":
      return ["", ...hanging(style.accent("› "), promptLines(part.text).map(style.strong), page)];
    case "message": {
      const look = part.from === "thought" ? style.dim : (line: string) => line;
      const lines = markdownLines(part.text, page.width - INDENT.length, style);
      return ["", ...lines.map((line) => (line === "" ? "" : INDENT + look(line)))];
    }
    case "tool":
      return ["", ...toolLines(part.call, page)];
    case "plan":
      return ["", ...planLines(part.steps, page)];
    case "question":
      return ["", ...questionLines(part.question, page)];
    case "lines":
      return ["", ...part.lines.map((line) => exactLine(line))];
    case "note":
      return hanging(style.dim("· "), [toned(proseLine(part.text), part.tone, style)], page);
  }
}

/** The beginning and the end of a long prompt, such as a paste. */
function promptLines(text: string): readonly string[] {
  const lines = prose(text).split("\n");
  if (lines.length <= MOST_PROMPT_LINES) return lines;
  const half = MOST_PROMPT_LINES / 2;
  return [...lines.slice(0, half), `… ${lines.length - 2 * half} more lines`, ...lines.slice(-half)];
}

function toned(text: string, tone: NoteTone, style: Style): string {
  return tone === "note" ? style.dim(text) : style[tone](text);
}

/** Wraps lines behind a mark; all but the first are indented as far. */
function hanging(mark: string, lines: readonly string[], { width }: PageSize): string[] {
  const indent = " ".repeat(visibleWidth(mark));
  const room = Math.max(width - indent.length, 1);
  return lines
    .flatMap((line) => wrapTextWithAnsi(line, room))
    .map((line, index) => `${index === 0 ? mark : indent}${line}`.trimEnd());
}

/** Wraps what is wider than the page; what follows is indented further, so that it does not begin at the margin. */
export function fitted(lines: readonly string[], width: number): string[] {
  return lines.flatMap((line) => {
    if (visibleWidth(line) <= width) return [line];
    const indent = (/^ */.exec(line)?.[0] ?? "").slice(0, Math.floor(width / 2));
    const room = Math.max(width - indent.length - INDENT.length, 1);
    const [first = "", ...rest] = wrapTextWithAnsi(line.slice(indent.length), room);
    return [indent + first, ...rest.map((part) => indent + INDENT + part)];
  });
}

function toolLines(call: CallView, page: PageSize): readonly string[] {
  const { style } = page;
  const { content, verdict, isOver } = call;
  const isRefused = verdict?.verdict === "blocked";
  const shown = isRefused ? [] : content;
  return [
    ...hanging(`${toolMark(call, style)} `, [style.strong(exactLine(call.title))], page),
    ...verdictLines(call, style),
    ...shown.flatMap((part) => contentLines(part, style)),
    ...(isOver ? [] : [INDENT + style.warn("did not end")]),
  ];
}

function toolMark({ status, verdict }: CallView, style: Style): string {
  if (verdict?.verdict === "blocked") return style.bad("✗");
  if (verdict?.ungated === true) return style.warn("!");
  if (status === "completed") return style.good("✓");
  return status === "failed" || status === "cancelled" ? style.bad("✗") : style.warn("•");
}

function verdictLines({ verdict, isOver }: CallView, style: Style): readonly string[] {
  if (!verdict) return [INDENT + style.dim(isOver ? "no verdict" : "no verdict yet")];
  const { reason, rule, enforcement, ungated } = verdict;
  const by = rule === undefined ? "" : ` [${exactLine(rule)}]`;
  const why = reason === undefined ? "" : `: ${proseLine(reason)}`;
  if (verdict.verdict === "blocked") return [INDENT + style.bad(`not allowed${why}${by}`)];
  if (ungated === true) return [INDENT + style.warn(`done without asking${why}${by}`)];
  const level = enforcement === undefined ? "" : `, ${proseLine(enforcement)}`;
  return [INDENT + style.dim(`${proseLine(verdict.verdict)}${by}${level}`)];
}

function contentLines(part: ToolContent, style: Style): readonly string[] {
  if (part.kind === "diff") return diffLines(part, style).map((line) => INDENT + line);
  const lines = part.text.trimEnd().split("\n");
  if (lines.length === 1 && lines[0] === "") return [];
  return limited(lines, MOST_LINES).map((line) => INDENT + style.dim(line));
}

/** The lines that differ, with a little of what is around them. */
function diffLines({ path, before, after }: Extract<ToolContent, { kind: "diff" }>, style: Style): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - CONTEXT);
  const lines = [
    ...old.slice(from, head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+ ${line}`),
    ...old.slice(old.length - tail, old.length - tail + CONTEXT).map((line) => `  ${line}`),
  ];
  const look = (line: string) => {
    if (line.startsWith("+")) return style.good(line);
    return line.startsWith("-") ? style.bad(line) : style.dim(line);
  };
  return [style.dim(`${exactLine(path)}:${head + 1}`), ...limited(lines, MOST_DIFF_LINES).map(look)];
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The beginning and the end of what is long. */
function limited(lines: readonly string[], most: number): readonly string[] {
  const cut = (line: string) =>
    exactLine(
      (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE).toWellFormed()}…` : line).replaceAll(
        "\t",
        "    ",
      ),
    );
  if (lines.length <= most) return lines.map(cut);
  const half = Math.floor(most / 2);
  const left = lines.length - 2 * half;
  return [...lines.slice(0, half).map(cut), `… ${left} more lines`, ...lines.slice(-half).map(cut)];
}

const STEP_MARKS: Readonly<Record<string, string | undefined>> = { completed: "x", in_progress: ">" };

function planLines(steps: readonly PlanLine[], page: PageSize): readonly string[] {
  return steps.flatMap(({ content, status }) =>
    hanging(page.style.dim(`[${STEP_MARKS[status] ?? " "}] `), [proseLine(content)], page),
  );
}

/** Shows exactly what an answer binds, as the server has it. */
function questionLines({ approval }: AskedQuestion, { style, width, now }: PageSize): readonly string[] {
  const heading = style.warn(style.strong("? Permission needed"));
  return [heading, ...describeApproval(approval, now(), width).trimEnd().split("\n")];
}

const MOST_QUEUED = 3;
const MOST_STEPS = 5;

/** The lines between what is finished and the input. */
export function liveLines(state: State, page: PageSize, height: number): readonly string[] {
  const { style } = page;
  const { queue, questions, busy } = state;
  const { message, tools, plan } = ofAgent(state);
  const growing = message ? rawLines({ kind: "message", ...message }, page) : [];
  const running = tools.map((call) => {
    const what = questions.length > 0 ? style.warn(" asks for permission") : style.dim(" …");
    return `${style.accent("•")} ${truncateToWidth(exactLine(call.title), Math.max(page.width - 24, 8), "…")}${what}`;
  });
  const waiting = queue.slice(0, MOST_QUEUED).map(({ text }) => style.dim(`queued  ${proseLine(text)}`));
  if (queue.length > MOST_QUEUED) waiting.push(style.dim(`        and ${queue.length - MOST_QUEUED} more`));
  const lines = [
    ...fitted(growing, page.width).slice(-Math.max(height, 1)),
    ...(running.length > 0 ? ["", ...running] : []),
    ...(plan.length > 0 ? ["", ...planLines(currentSteps(plan), page)] : []),
    ...(busy === undefined ? [] : ["", style.accent(proseLine(busy))]),
    ...(waiting.length > 0 ? ["", ...waiting] : []),
    ...(state.hint === undefined ? [] : ["", style.warn(proseLine(state.hint))]),
    ...answerLines(state, page),
  ];
  return lines.map((line) => truncateToWidth(line, page.width, "…"));
}

/**
 * What of an agent is shown between what is finished and the input. While a question is asked that is its call alone, on
 * one line: anything else could move the question off the screen and look like one.
 */
function ofAgent({ message, tools, plan, questions }: State): Pick<State, "message" | "tools" | "plan"> {
  const [question] = questions;
  if (!question) return { message, tools, plan };
  return { message: undefined, tools: tools.filter(({ id }) => id === question.call), plan: [] };
}

/** A few steps around the current one. */
function currentSteps(plan: readonly PlanLine[]): readonly PlanLine[] {
  const current = plan.findIndex(({ status }) => status !== "completed");
  const from = Math.max(0, Math.min(current - 1, plan.length - MOST_STEPS));
  return plan.slice(from, from + MOST_STEPS);
}

/** How the question is answered. */
function answerLines({ questions, isAnswering }: State, page: PageSize): readonly string[] {
  const [question] = questions;
  if (!question) return [];
  const { style } = page;
  const more = questions.length > 1 ? style.dim(`  (${questions.length - 1} more)`) : "";
  if (!isAnswering)
    return [
      "",
      ...hanging(
        `${style.warn("?")} `,
        [`${style.warn("An agent waits for you.")} ${style.strong("Tab")} answers the question above${more}`],
        page,
      ),
    ];
  const keys = answersTo(question).map(([key, words]) => `${style.strong(`[${key}]`)} ${words}`);
  return ["", ...hanging(`${style.warn("?")} `, [`${keys.join("  ")}${more}`], page)];
}

const ANSWER_WORDS = {
  allow_once: ["a", "allow once"],
  allow_always: ["A", "allow always"],
  deny: ["d", "deny"],
} as const;

/** The keys of a question with their meaning. */
function answersTo({ approval }: AskedQuestion): readonly (readonly [key: string, words: string])[] {
  const offered = approval.options.map((option) => ANSWER_WORDS[option]);
  return [...offered, ["s", "later"], ["Esc", "back"]];
}

/** The line below the input: what goes on, and about what. */
export function statusLine(state: State, { width, style }: PageSize): string {
  const { session, turn, usage, cost, isConnected, isOver, isLeaving, isCancelling, settings } = state;
  if (isLeaving) return style.warn(truncateToWidth("Ctrl-C again leaves; the session stays", width, "…"));
  const current = (category: string) => {
    const setting = settings.find((one) => one.category === category);
    return setting?.choices.find(({ value }) => value === setting.current)?.name ?? setting?.current;
  };
  const parts = [
    session ? activity({ turn, isConnected, isOver, isCancelling }) : "starting",
    session?.agent,
    current("mode"),
    current("model"),
    usage && tokens(usage),
    cost && money(cost),
    session?.enforcement && `verdicts ${session.enforcement}`,
    "/help",
  ].flatMap((part) => (part === undefined || part === "" ? [] : [proseLine(part)]));
  return style.dim(truncateToWidth(parts.join(" · "), width, "…"));
}

function activity({
  turn,
  isConnected,
  isOver,
  isCancelling,
}: Pick<State, "turn" | "isConnected" | "isOver" | "isCancelling">): string {
  if (!isConnected) return "disconnected";
  if (isOver) return "ended";
  if (isCancelling) return "cancelling";
  return turn === undefined ? "ready" : "working, Esc cancels";
}

function tokens({ used, size }: NonNullable<State["usage"]>): string {
  return size === undefined ? short(used) : `${short(used)}/${short(size)}`;
}

function short(count: number): string {
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function money({ amount, currency }: NonNullable<State["cost"]>): string {
  const digits = amount !== 0 && amount < 1 ? 4 : 2;
  return currency === "USD" ? `$${amount.toFixed(digits)}` : `${amount.toFixed(digits)} ${currency}`;
}
