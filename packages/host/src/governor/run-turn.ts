import {
  type AcpContent,
  CODE,
  interruptedBy,
  type JsonObject,
  membersOf,
  RpcError,
  readContent,
  usageIn,
} from "@reins/acp";
import type { Draft, RecordOptions } from "@reins/ledger";
import type { Decided, Harness } from "@reins/supervisor";
import { subjectIn } from "../control/control-point.ts";
import { chargePrompt, complete, enforce, forwardIn } from "../control/enforce.ts";
import { placed, verdictMeta } from "../control/verdict.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { settleCommands, withoutCommands } from "./prompt-commands.ts";
import { withFiles } from "./prompt-files.ts";
import { runEnd, Turn, turnDraft } from "./turn.ts";
import { noteUnended } from "./ungated.ts";
import { showRest, showUpdate } from "./updates.ts";

/** Runs one turn: enforces the prompt, passes it on with what belongs before it, and records how it ended. */
export async function runTurn(
  context: GovernorContext,
  session: GovernedSession,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  const { prompt } = params;
  if (!Array.isArray(prompt)) throw new RpcError(CODE.invalidParams, "a prompt is a list of content blocks");
  const started = context.now().toISOString();
  const turn = new Turn(context.newId(), started, () => context.redact(prompt), session.cost);
  const { promise, resolve: onOver } = Promise.withResolvers<void>();
  session.turn = turn;
  session.toolCalls.beginTurn(Date.parse(started));
  session.turnOver = promise;
  noteRun(context, session, turn, "created");
  const cancel = () => void cancelTurn(context, session, "the prompt was taken back").catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (signal.aborted) turn.cancel("the prompt was taken back");
    // Turns stand in the ledger one after the other.
    await session.placed;
    const answering = answerTo(context, session, { turn, params, prompt });
    const answer = membersOf(await Promise.race([answering, overdue(context, session, turn, answering)]));
    if (session.isCut) throw interruptedBy("Reins is stopping");
    await finish(context, session, turn, { stop_reason: String(answer.stopReason ?? "unknown"), answer });
    return answer;
  } catch (error) {
    if (session.isCut) throw error;
    // No agent waits for the answers any more.
    await withdrawIn(context, session, turn, RpcError.of(error).message);
    await finish(context, session, turn, {
      stop_reason: endingOf(context, turn),
      answer: undefined,
    });
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    session.turn = undefined;
    session.unprompted = undefined;
    session.idleSince = context.now().getTime();
    session.permits.clear();
    session.toolCalls.endTurn();
    turn.finish();
    onOver();
  }
}

/**
 * Cuts the turn of a session off, as the end of the process would: what was said is shown, and nothing after it. `onCut`
 * is called before anything that waits in the turn is ended.
 */
export async function cutTurn(session: GovernedSession, onCut: () => void): Promise<void> {
  await showRest(session);
  session.isCut = true;
  onCut();
  session.turn?.cancel("Reins is stopping");
}

/**
 * The answer that a turn gets which was cancelled and whose agent does not end it in time. What the agent still answers
 * counts no more.
 */
function overdue(
  { cancelGraceMs }: GovernorContext,
  session: GovernedSession,
  turn: Turn,
  answering: Promise<unknown>,
): Promise<JsonObject> {
  const { promise, resolve } = Promise.withResolvers<JsonObject>();
  let timer: NodeJS.Timeout | undefined;
  turn.onCancel(() => {
    timer = setTimeout(() => {
      session.overran = true;
      resolve({ stopReason: "cancelled" });
    }, cancelGraceMs);
  });
  const answered = () => clearTimeout(timer);
  answering.then(answered, answered);
  return promise;
}

/** Ends what waits in a turn: questions are withdrawn, requests of the agent answered as cancelled. */
export async function cancelTurn(
  context: GovernorContext,
  session: GovernedSession,
  reason: string,
): Promise<void> {
  const { turn } = session;
  if (!turn || turn.isCancelled) return;
  turn.cancel(reason);
  await context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
  await withdrawIn(context, session, turn, reason);
}

/** Withdraws the approvals of a turn. */
export async function withdrawIn(
  { harness, principal: { tenant } }: GovernorContext,
  { id: session }: GovernedSession,
  { id: turn }: Turn,
  reason: string,
): Promise<void> {
  await harness.approvals.withdraw({ tenant, session, turn }, reason);
}

interface Prompted {
  readonly turn: Turn;
  readonly params: JsonObject;
  readonly prompt: readonly unknown[];
}

async function answerTo(
  context: GovernorContext,
  session: GovernedSession,
  prompted: Prompted,
): Promise<unknown> {
  const { turn, params } = prompted;
  const changed = await enforcePrompt(context, session, prompted);
  if (changed.kind !== "passed") return changed.response;
  const settled = await unlessCancelled(turn, settleCommands(context, session, turn, changed.prompt));
  if (!settled) return cancelled(context);
  if (settled.refused) return refuse(context, session, settled.refused);
  const subject = subjectIn(context, session, context.enforcement);
  const more = { params, inSystemPrompt: context.profile.instructions === "in_system_prompt" };
  const prepared = await context.preparation?.compose(session, subject, settled.prompt, more);
  if (prepared) turn.entries.push(...prepared.entries);
  session.instructions = prepared?.instructions;
  let delivered = false;
  try {
    const { commands } = settled;
    const whole = { prompt: prepared?.prompt ?? settled.prompt, commands };
    const read = await unlessCancelled(turn, withFiles(context, session, turn, whole));
    // Cancelled meanwhile: an agent that hears of a cancel before the prompt would never end it.
    if (!read || turn.isCancelled) return cancelled(context);
    noteRun(context, session, turn, "executing");
    const answer = await context.agent.request("session/prompt", {
      ...params,
      sessionId: session.agentSessionId,
      prompt: forAgent(context, session, withoutCommands(context, read, commands)),
    });
    delivered = membersOf(answer).stopReason !== "refusal";
    return answer;
  } finally {
    await prepared
      ?.end({ delivered, contextTokens: turn.tokens })
      .catch((error: unknown) => context.onFault(`mail could not be marked as read: ${String(error)}`));
  }
}

/** Awaits a value; `undefined` when the turn is cancelled first. */
async function unlessCancelled<Value>(turn: Turn, waited: Promise<Value>): Promise<Value | undefined> {
  try {
    return await waited;
  } catch (error) {
    if (turn.isCancelled) return undefined;
    throw error;
  }
}

/** The response to a prompt that was not passed on; rejects where that is because the agent has ended. */
function cancelled({ agent }: GovernorContext): JsonObject {
  agent.signal.throwIfAborted();
  return { stopReason: "cancelled" };
}

/** A prompt that passes on, or the response of a turn whose prompt does not. */
type EnforcedPrompt =
  | { readonly kind: "passed"; readonly prompt: readonly unknown[] }
  | { readonly kind: "ended"; readonly response: unknown };

/** Enforces a prompt, unless its agent has each of its requests to a model decided. */
async function enforcePrompt(
  context: GovernorContext,
  session: GovernedSession,
  { turn, prompt }: Prompted,
): Promise<EnforcedPrompt> {
  if (context.profile.decidesPrompts === "per_request") return { kind: "passed", prompt };
  const payload = { prompt: promptText(prompt), message_count: prompt.length };
  const origin = session.descent ? "agent" : "client";
  const point = { kind: "prompt", payload, origin } as const;
  const enforced = await unlessCancelled(turn, enforce(context, session, point, turn));
  if (!enforced) return { kind: "ended", response: cancelled(context) };
  switch (enforced.kind) {
    case "allowed":
      return { kind: "passed", prompt };
    case "modified":
      return { kind: "passed", prompt: modifiedPrompt(enforced.arguments, prompt) };
    case "refused":
      return { kind: "ended", response: await refuse(context, session, enforced.verdict) };
  }
}

/** Ends the turn of a refused prompt with the reason. */
async function refuse(
  context: GovernorContext,
  session: GovernedSession,
  decided: Decided,
): Promise<unknown> {
  const text = `The prompt was not passed on: ${decided.reason}`;
  const _meta = verdictMeta(await placed(decided));
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, _meta };
  await showUpdate(context, session, update);
  return { stopReason: "refusal", _meta };
}

function modifiedPrompt(modified: unknown, prompt: readonly unknown[]): readonly unknown[] {
  const { prompt: text } = membersOf(modified);
  return typeof text === "string" ? [{ type: "text", text }] : prompt;
}

/** How a turn ended that was not answered. */
function endingOf({ agent }: GovernorContext, turn: Turn): string {
  if (agent.signal.aborted) return "interrupted";
  return turn.isCancelled ? "cancelled" : "error";
}

/** Records allowed calls without an end as of unknown outcome, after the agent has ended. */
async function recordUnknown(context: GovernorContext, session: GovernedSession): Promise<void> {
  for (const { id, permit } of session.toolCalls.unfinished) {
    if (permit.kind !== "given" || !session.toolCalls.conclude(id)) continue;
    const { tool, entry } = permit;
    const { enforcement } = context;
    await complete(context, session, { tool, entry, enforcement, outcome: "unknown" });
  }
}

async function finish(
  context: GovernorContext,
  session: GovernedSession,
  turn: Turn,
  { stop_reason, answer }: { readonly stop_reason: string; readonly answer: JsonObject | undefined },
): Promise<void> {
  const subject = subjectIn(context, session, context.enforcement);
  const usage = turn.usage(answer);
  session.cost = turn.costAfter;
  // Requests that were decided one by one are settled with what each used; the last one may have been cut off.
  const isSettled = context.profile.decidesPrompts === "per_request";
  await chargePrompt(context, session, isSettled ? {} : usage);
  context.harness.supervisor.turnEnded(usage);
  await noteUnended(context, session, { isCancelled: turn.isCancelled || stop_reason === "interrupted" });
  await showRest(session);
  if (stop_reason === "interrupted") await recordUnknown(context, session);
  await turn.written();
  const completed_at = context.now().toISOString();
  noteRun(context, session, turn, runEnd(stop_reason), { metadata: { stop_reason } });
  const end = { stop_reason, completed_at, usage: { ...usage, ...usageIn(answer) } };
  forwardIn(context, session, "post_response", { stop_reason, usage: end.usage });
  const { harness, onFault } = context;
  const draft = harness.redacted(turnDraft(subject, turn, end));
  const { clients } = session;
  if (!clients.concluded) return recordTurn(harness, session, draft, { durable: true });
  await clients.concluded(draft);
  // What was kept need not be waited for.
  const { promise, resolve: onPlaced } = Promise.withResolvers<void>();
  const recording = recordTurn(harness, session, draft, { durable: false, relaxed: true, onPlaced });
  session.recorded = recording.catch((error: unknown) => {
    onFault(`a turn could not be recorded: ${String(error)}`);
    onPlaced();
  });
  session.placed = promise;
}

/** Notes a transition of the run that a turn is, unless the agent reports its runs itself, in more detail. */
function noteRun(
  context: GovernorContext,
  session: GovernedSession,
  { id: run_id, started: started_at }: Turn,
  status: "created" | "executing" | "completed" | "failed" | "cancelled",
  more: { readonly metadata?: JsonObject } = {},
): void {
  const { harness, principal, profile, now, onFault } = context;
  if (profile.runs === "reported") return;
  const lifecycle = {
    run_id,
    session_id: session.id,
    status,
    started_at,
    updated_at: now().toISOString(),
    ...more,
  };
  harness.runs
    .note(principal, "run_lifecycle", lifecycle, { isNew: status === "created", relaxed: true })
    .catch((error: unknown) => onFault(`a run could not be noted: ${String(error)}`));
  forwardIn(context, session, "run_lifecycle", lifecycle);
}

async function recordTurn(
  { ledger }: Harness,
  session: GovernedSession,
  draft: Draft,
  how: Pick<RecordOptions<[]>, "durable" | "relaxed" | "onPlaced">,
): Promise<void> {
  const { entries } = await ledger.record([draft], how);
  session.lastTurn = entries[0]?.cid;
}

/** The text of a prompt, for other harnesses and people; of what is no text, where it is, or only that it is there. */
function promptText(prompt: readonly unknown[]): string {
  return prompt.map(readContent).flatMap(textsIn).join("\n");
}

function textsIn({ type, text, uri, resource }: AcpContent): readonly string[] {
  const texts = [text, uri, resource.uri, resource.text].filter((one) => one !== undefined);
  return texts.length > 0 ? texts : [`[${String(type)}]`];
}

/**
 * Puts what was refused since the last prompt in front of this one, with the reasons: most agents pass no more to their
 * models than that the user said no. A command counts only at the beginning, so it is not preceded.
 */
function forAgent(
  { profile }: GovernorContext,
  { refusals }: GovernedSession,
  prompt: readonly unknown[],
): readonly unknown[] {
  if (profile.refusals === "with_answer") return prompt;
  const { text: first = "" } = readContent(prompt[0]);
  if (refusals.length === 0 || /^\s*[/!]/.test(first)) return prompt;
  const heading = "Not allowed since the last message, by the rules of this session:";
  const text = [heading, ...refusals.splice(0)].join("\n- ");
  return [{ type: "text", text }, ...prompt];
}
