import { isObject, type JsonObject } from "@reins/acp";
import { errorMessage, readJson, type SpelledNumber } from "@reins/kit";
import { FileError } from "../files/roots.ts";
import type { CallPart, ToolResult } from "../history/entry.ts";
import { checkOf } from "../tools/run-command.ts";
import {
  type Call,
  type PlanEntry,
  type Preparation,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolErrorCode,
  type ToolOutcome,
} from "../tools/tool.ts";
import { showSearch, type Turn } from "./turn.ts";
import type { DisplayedCall } from "./turn-event.ts";
import { loadSkillIn } from "./use-skills.ts";

const NOT_BEGUN = "Not done: the turn was cancelled.";

/** How many calls run at the same time. */
const AT_ONCE = 8;

/**
 * Performs tool calls in the order of the model: asks permission, performs, reports. Neighbours that only look, or that
 * work for themselves, run at the same time; the results keep their order. A failure becomes the result of its call, for
 * the model to handle; only cancelling the turn stops the rest.
 */
export async function performCalls(turn: Turn, parts: readonly CallPart[]): Promise<readonly ToolResult[]> {
  const { callsAtOnce, resultCharacters } = turn.setting.limits;
  const outcomes: ToolOutcome[] = [];
  for (const group of groupsOf(turn, parts.slice(0, callsAtOnce)))
    outcomes.push(...(await Promise.all(group.map((part) => performCall(turn, part)))));
  return parts.map(({ id, name }, index) => {
    const outcome = outcomes[index] ?? failure(`Not done: at most ${callsAtOnce} calls are made at once.`);
    return {
      call: id,
      name,
      text: clipped(outcome.text, resultCharacters),
      isError: outcome.isError ?? false,
      ...(outcome.media && { media: [...outcome.media] }),
    };
  });
}

/** Groups calls, in their order: those of one group may run at the same time. */
function groupsOf(turn: Turn, parts: readonly CallPart[]): readonly (readonly CallPart[])[] {
  const groups: CallPart[][] = [];
  let isOpen = false;
  for (const part of parts) {
    const isConcurrent = turn.setting.tools.find(({ name }) => name === part.name)?.isConcurrent ?? false;
    const last = groups.at(-1);
    if (last && isOpen && isConcurrent && last.length < AT_ONCE) last.push(part);
    else groups.push([part]);
    isOpen = isConcurrent;
  }
  return groups;
}

async function performCall(turn: Turn, part: CallPart): Promise<ToolOutcome> {
  if (turn.signal.aborted) return failure(NOT_BEGUN);
  const ready = await prepare(turn, part);
  if ("isError" in ready) return ready;
  if (ready.tool.isInner) return performInner(turn, part, ready);
  return askAndPerform(turn, part, ready);
}

/** A call that has been validated and prepared. */
interface Ready {
  readonly tool: Tool;
  readonly given: unknown;
  readonly call: Call;
  readonly preparation: Preparation;
}

/** Validates a call. A fault before permission is asked goes to the model, and to clients as a notice. */
async function prepare(
  turn: Turn,
  part: CallPart,
): Promise<Ready | (ToolOutcome & { readonly isError: true })> {
  try {
    const { deferred } = turn.setting;
    const tool = deferred
      ? deferred.find(part.name)
      : turn.scopedTools.find(({ name }) => name === part.name);
    if (!tool) throw new ToolError("unknown_tool", notOffered(turn, part.name));
    const given = parsed(part);
    const call = tool.call(given);
    return { tool, given, call, preparation: await call.prepare(contextOf(turn, part)) };
  } catch (error) {
    const { code, message } = toolErrorOf(turn, error);
    turn.report("error", {
      session_id: turn.setting.sessionId,
      code,
      message,
      retryable: false,
      tool: part.name,
    });
    const title = `The model's call of ${part.name.slice(0, 100)} was not made`;
    await turn.setting.emit({ type: "notice", severity: "warning", title, description: message });
    return failure(`Not done: ${message}.`);
  }
}

async function performInner(turn: Turn, part: CallPart, { call }: Ready): Promise<ToolOutcome> {
  const outcome = await call.perform(contextOf(turn, part));
  if (outcome.plan) await showPlan(turn, outcome.plan);
  return outcome;
}

async function askAndPerform(turn: Turn, part: CallPart, ready: Ready): Promise<ToolOutcome> {
  const { emit, askPermission } = turn.setting;
  const { toolCallId } = part;
  const shown = displayedCall(part, ready);
  await emit({ type: "call", call: shown });
  let hasBegun = false;
  try {
    const permission = await askPermission(shown, turn.signal);
    if (permission.kind === "refused") return await refuse(turn, toolCallId, permission.reason);
    const { modified } = permission;
    const call = modified ? ready.tool.call(modified) : ready.call;
    await emit({ type: "call_update", toolCallId, status: "in_progress" });
    turn.signal.throwIfAborted();
    hasBegun = true;
    const outcome = await call.perform(contextOf(turn, part));
    turn.use(ready.preparation.locations ?? []);
    await report(turn, toolCallId, outcome);
    return modified ? { ...outcome, text: changed(modified, outcome.text) } : outcome;
  } catch (error) {
    const { message } = toolErrorOf(turn, error);
    const cancelled = hasBegun ? "Cancelled. Whether it was done is unknown." : NOT_BEGUN;
    const outcome = failure(turn.signal.aborted ? cancelled : `It failed: ${message}`);
    await report(turn, toolCallId, outcome);
    return outcome;
  }
}

async function refuse(turn: Turn, toolCallId: string, reason: string): Promise<ToolOutcome> {
  const outcome = failure(`Not allowed: ${reason}`);
  await report(turn, toolCallId, outcome);
  return { ...outcome, text: `${outcome.text}. It was not done. Do not try to get there another way.` };
}

async function report(turn: Turn, toolCallId: string, outcome: ToolOutcome): Promise<void> {
  const { isError = false, content } = outcome;
  const text = clipped(outcome.text, turn.setting.limits.resultCharacters);
  await turn.setting.emit({
    type: "call_update",
    toolCallId,
    status: isError ? "failed" : "completed",
    content: content ?? [{ type: "content", content: { type: "text", text } }],
    rawOutput: { text, is_error: isError },
  });
  if (outcome.check) reportCheck(turn, toolCallId, outcome.check);
}

function displayedCall({ toolCallId }: CallPart, { tool, given, call, preparation }: Ready): DisplayedCall {
  const { locations = [], content = [] } = preparation;
  return {
    toolCallId,
    title: call.title,
    name: tool.decidedAs ?? tool.name,
    kind: tool.kind,
    rawInput: given,
    locations,
    content,
  };
}

function contextOf(turn: Turn, { toolCallId }: CallPart): ToolContext {
  const { toolContext, emit, skills } = turn.setting;
  return {
    ...toolContext,
    signal: turn.signal,
    turn: { id: turn.id, at: turn.startedAt, prompt: turn.words },
    toolCallId,
    onWorker: (update) => emit({ type: "worker", update }),
    onOutput: (text) =>
      emit({
        type: "call_update",
        toolCallId,
        status: "in_progress",
        content: [{ type: "content", content: { type: "text", text } }],
      }),
    onSearch: (update) => showSearch(turn, update),
    loadSkill: skills && ((name, wanted) => loadSkillIn(turn, name, wanted)),
  };
}

/** Keeps the digits of integers that JavaScript would round: the decided arguments are those that the model wrote. */
function keepDigits(source: string): number | SpelledNumber {
  const value = Number(source);
  const isHeld = Number.isSafeInteger(value) || !/^-?\d+$/.test(source);
  return isHeld && Number.isFinite(value) ? value : JSON.rawJSON(source);
}

function parsed({ name, arguments: json }: CallPart): JsonObject {
  let duplicate: string | undefined;
  try {
    const read = readJson(json, keepDigits);
    duplicate = read.duplicate;
    if (isObject(read.value) && duplicate === undefined) return read.value;
  } catch {
    // Reported below, as is JSON that is not an object.
  }
  const fault = duplicate === undefined ? "are not a JSON object" : `have the member ${duplicate} twice`;
  throw new ToolError("malformed", `the arguments of ${name} ${fault}: ${json.slice(0, 200)}`);
}

function notOffered(turn: Turn, name: string): string {
  const { mode } = turn.setting;
  const offered = turn.tools
    .filter(({ isDeferred = false }) => !isDeferred)
    .map((tool) => tool.name)
    .join(", ");
  return `there is no tool ${name.slice(0, 100)} here${mode === "plan" ? ", in plan mode" : ""}; there are ${offered}`;
}

function toolErrorOf(turn: Turn, error: unknown): { readonly code: ToolErrorCode; readonly message: string } {
  if (error instanceof ToolError) return error;
  const message = errorMessage(error);
  if (error instanceof FileError)
    return { code: error.code === "outside" ? "outside_workspace" : "failed", message };
  if (!turn.signal.aborted) turn.setting.onFault(error);
  return { code: "failed", message };
}

function failure(text: string): ToolOutcome & { readonly isError: true } {
  return { text, isError: true };
}

function changed(modified: JsonObject, text: string): string {
  return `It was done with other arguments, as policy wants: ${JSON.stringify(modified)}\n${text}`;
}

function clipped(text: string, limit: number): string {
  return text.length <= limit
    ? text
    : `${text.slice(0, limit)}\n[cut here: ${text.length - limit} more characters]`;
}

/** Shows a plan to clients and reports it as the tasks of the run. */
export async function showPlan(turn: Turn, entries: readonly PlanEntry[]): Promise<void> {
  turn.report("task_list", {
    run_id: turn.id,
    session_id: turn.setting.sessionId,
    tasks: entries.map(({ content, status }, index) => ({ id: String(index + 1), title: content, status })),
    updated_at: turn.now(),
  });
  await turn.setting.emit({ type: "plan", entries });
}

/** Reports the result of a command that checks the work. */
function reportCheck(turn: Turn, toolCallId: string, check: NonNullable<ToolOutcome["check"]>): void {
  const { command, passed, message } = check;
  const status = passed ? "passed" : "failed";
  turn.setStatus("verifying");
  turn.report("verification", {
    run_id: turn.id,
    session_id: turn.setting.sessionId,
    status,
    checks: [{ id: toolCallId, subject: checkOf(command) ?? "work", status, command, message }],
    updated_at: turn.now(),
  });
}
