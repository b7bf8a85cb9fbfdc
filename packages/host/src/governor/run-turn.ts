import { CODE, interruptedBy, isObject, type JsonObject, RpcError, readResult, usageIn } from "@reins/acp";
import { errorMessage, Repeater, systemClock } from "@reins/kit";
import type { Draft, RecordOptions } from "@reins/ledger";
import { type Decided, type Harness, type Origin, type Subject, sessionKey } from "@reins/supervisor";
import { agentOf, recordedSubject, subjectIn } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { chargePrompt, forwardIn, placed, verdictMeta } from "../control/outcome.ts";
import { declareUntilOver, observation, startDeclaring } from "./declaring.ts";
import { type GovernedSession, Turn } from "./governed-session.ts";
import { promptText, settleCommands, withFiles, withoutCommands, withRefusals } from "./prompt-content.ts";
import { noteUnended, recordUnknown } from "./ungated.ts";
import { flushUpdates, showUpdate } from "./updates.ts";

/** How often a turn reads whether its principal still has its rights. */
const RIGHTS_MS = 1_000;

/** Runs one turn: enforces the prompt, passes it on with what belongs before it, and records how it ended. */
export async function runTurn(
  session: GovernedSession,
  params: JsonObject,
  signal: AbortSignal,
  by?: string,
): Promise<unknown> {
  const { prompt } = params;
  if (!Array.isArray(prompt)) throw new RpcError(CODE.invalidParams, "a prompt is a list of content blocks");
  const started = session.context.now().toISOString();
  const turn = new Turn(
    session.context.newId(),
    started,
    () => session.context.harness.redact(prompt),
    session.cost,
  );
  turn.promptedBy = by;
  if (session.context.isMetered) turn.counted = { tokens: 0, cost: 0 };
  const { promise, resolve: onOver } = Promise.withResolvers<void>();
  session.beginTurn(turn);
  session.turnOver = promise;
  noteRun(session, turn, "created");
  const cancel = () => void cancelTurn(session, "the prompt was cancelled").catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  const { harness, principal, onFault } = session.context;
  const begun = { id: turn.id, session: session.id, parent: session.descent?.parent };
  harness.supervisor.turnStarted({ ...begun, agent: agentOf(session), meta: params._meta });
  // Reads what other processes have changed; the governor cancels the turns of a principal without rights.
  const read = async () => void (await harness.identity.current(principal));
  const reading = new Repeater(systemClock, RIGHTS_MS, read, (error) => onFault(String(error)));
  // Begun now, so that the first verdict need not wait for it; that reports a failure, too.
  read().catch(() => undefined);
  try {
    if (signal.aborted) turn.cancel("the prompt was cancelled");
    // Turns are in the ledger one after the other.
    await session.placed;
    const answering = answerTo(session, { turn, params, prompt });
    const answer = await Promise.race([answering, overdue(session, turn, answering)]);
    if (session.isCut) throw interruptedBy("Reins is stopping");
    if (answer === OVERDUE) {
      chargeLate(session, turn, answering);
      await finish(session, turn, { stop_reason: "cancelled", answer: undefined });
      return { stopReason: "cancelled" };
    }
    const { stopReason: stop_reason = "unknown" } = readResult("session/prompt", answer);
    await finish(session, turn, { stop_reason, answer });
    return isObject(answer) ? answer : {};
  } catch (error) {
    if (session.isCut) throw error;
    // No agent waits for the answers any more.
    await withdrawIn(session, RpcError.of(error).message, turn);
    await finish(session, turn, {
      stop_reason: endingOf(session, turn),
      answer: undefined,
    });
    throw error;
  } finally {
    reading.stop();
    signal.removeEventListener("abort", cancel);
    session.endTurn(session.context.now().getTime());
    onOver();
  }
}

/**
 * Cuts the turn of a session off, as the end of the process would: what was said is shown, and nothing after it. `onCut`
 * is called before anything that waits in the turn is ended.
 */
export async function cutTurn(session: GovernedSession, onCut: () => void): Promise<void> {
  await flushUpdates(session);
  session.isCut = true;
  onCut();
  session.turn?.cancel("Reins is stopping");
}

/** Stands for the answer of an agent that did not end its turn in time. */
const OVERDUE = Symbol("overdue");

/** Ends a turn that was cancelled and whose agent does not end it in time. Of what it still answers, the usage counts. */
function overdue(session: GovernedSession, turn: Turn, answering: Promise<unknown>): Promise<typeof OVERDUE> {
  const { cancelGraceMs } = session.context;
  const { promise, resolve } = Promise.withResolvers<typeof OVERDUE>();
  let timer: NodeJS.Timeout | undefined;
  turn.onCancel(() => {
    timer = setTimeout(() => {
      session.overran = true;
      resolve(OVERDUE);
    }, cancelGraceMs);
  });
  const answered = () => clearTimeout(timer);
  answering.then(answered, answered);
  return promise;
}

/** Charges what a turn used beyond what was charged when it ended, once its agent answers. */
function chargeLate(session: GovernedSession, turn: Turn, answering: Promise<unknown>): void {
  const { onFault, profile } = session.context;
  const { tokens: charged = 0 } = turn.usage(undefined);
  const charge = async (answer: unknown) => {
    const tokens = (turn.usage(answer).tokens ?? 0) - charged;
    if (tokens > 0 && profile.decidesPrompts !== "per_request") await chargePrompt(session, { tokens });
  };
  answering
    .then(charge, () => undefined)
    .catch((error: unknown) => onFault(`what a turn used could not be charged: ${errorMessage(error)}`));
}

/** Ends what waits in a turn: questions are withdrawn, requests of the agent answered as cancelled. */
export async function cancelTurn(session: GovernedSession, reason: string): Promise<void> {
  const { turn } = session;
  if (!turn || turn.isCancelled) return;
  turn.cancel(reason);
  await session.context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
  await withdrawIn(session, reason, turn);
}

/** Withdraws the approvals of a session, or of one turn. */
export async function withdrawIn(
  { context, id: session }: GovernedSession,
  reason: string,
  turn?: Turn,
): Promise<void> {
  const { tenant } = context.principal;
  await context.harness.approvals.withdraw({ tenant, session, ...(turn && { turn: turn.id }) }, reason);
}

interface Prompted {
  readonly turn: Turn;
  readonly params: JsonObject;
  readonly prompt: readonly unknown[];
}

async function answerTo(session: GovernedSession, prompted: Prompted): Promise<unknown> {
  const { turn, params } = prompted;
  session.context.preparation?.lookAhead?.(session);
  const changed = await enforcePrompt(session, prompted);
  if (changed.kind !== "passed") return changed.response;
  const settled = await unlessCancelled(turn, settleCommands(session, turn, changed.prompt));
  if (!settled) return cancelled(session);
  if (settled.refused) return refuse(session, settled.refused);
  const subject = subjectIn(session, session.context.enforcement);
  // A command is for the agent itself, and it knows one only where nothing else is beside it.
  const protocol = settled.commands.size === 0 ? session.context.protocol : undefined;
  const declaring = protocol && {
    ...{ session, turn, protocol },
    prompt: (text: string, answer: unknown) => promptAgain(session, prompted, text, answer),
  };
  const unseen = declaring ? await startDeclaring(declaring, promptText(settled.prompt)) : [];
  const more = {
    params,
    inSystemPrompt: session.context.profile.instructions === "in_system_prompt",
    protocol: (await protocol?.describe(session.id))?.instructions,
  };
  const prepared = await session.context.preparation?.compose(session, subject, settled.prompt, more);
  if (prepared) turn.entries.push(...prepared.entries);
  session.instructions = prepared?.instructions;
  let delivered = false;
  try {
    const { commands } = settled;
    const whole = { prompt: prepared?.prompt ?? settled.prompt, commands };
    const read = await unlessCancelled(turn, withFiles(session, turn, whole));
    // Cancelled meanwhile: an agent that receives a cancel before the prompt would never end it.
    if (!read || turn.isCancelled) return cancelled(session);
    noteRun(session, turn, "executing");
    const answer = await session.context.agent.request("session/prompt", {
      ...params,
      sessionId: session.agentSessionId,
      // What the runtime quotes names no files to be read.
      prompt: withRefusals(session, withoutCommands(session, [...unseen, ...read], commands)),
    });
    delivered = readResult("session/prompt", answer).stopReason !== "refusal";
    if (!declaring) return answer;
    return (await unlessCancelled(turn, declareUntilOver(declaring, answer))) ?? cancelled(session);
  } finally {
    // What a declaration still held back when the turn ends otherwise.
    for (const update of turn.held?.release() ?? []) await showUpdate(session, update);
    await prepared
      ?.end({ delivered, contextTokens: turn.tokens })
      .catch((error: unknown) =>
        session.context.onFault(`mail could not be marked as read: ${String(error)}`),
      );
  }
}

/** Prompts an agent again in its turn: what came of its declaration is a prompt like any other, and is charged like one. */
async function promptAgain(
  session: GovernedSession,
  { turn, params }: Prompted,
  text: string,
  earlier: unknown,
): Promise<unknown> {
  await chargePrompt(session, turn.takeUncharged(turn.usage(earlier)), { entry: turn.verdict });
  const enforced = await enforcePrompt(
    session,
    { turn, params, prompt: [observation(session, text)] },
    "agent",
  );
  if (enforced.kind !== "passed") return enforced.response;
  if (turn.isCancelled) return cancelled(session);
  return session.context.agent.request("session/prompt", {
    ...params,
    sessionId: session.agentSessionId,
    prompt: withRefusals(session, withoutCommands(session, enforced.prompt, new Set())),
  });
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
function cancelled({ context }: GovernedSession): JsonObject {
  context.agent.signal.throwIfAborted();
  return { stopReason: "cancelled" };
}

/** A prompt that passes on, or the response of a turn whose prompt does not. */
type EnforcedPrompt =
  | { readonly kind: "passed"; readonly prompt: readonly unknown[] }
  | { readonly kind: "ended"; readonly response: unknown };

/** Enforces a prompt, unless its agent has each of its requests to a model decided. */
async function enforcePrompt(
  session: GovernedSession,
  { turn, prompt }: Prompted,
  origin: Origin = session.descent ? "agent" : "client",
): Promise<EnforcedPrompt> {
  if (session.context.profile.decidesPrompts === "per_request") return { kind: "passed", prompt };
  const payload = { prompt: promptText(prompt), message_count: prompt.length };
  const point = { kind: "prompt", payload, origin } as const;
  const enforced = await unlessCancelled(turn, enforce(session, point, turn));
  if (!enforced) return { kind: "ended", response: cancelled(session) };
  if (enforced.kind !== "refused") turn.verdict = enforced.verdict.entry;
  switch (enforced.kind) {
    case "allowed":
      return { kind: "passed", prompt };
    case "modified":
      return { kind: "passed", prompt: modifiedPrompt(enforced.arguments, prompt) };
    case "refused":
      return { kind: "ended", response: await refuse(session, enforced.verdict) };
  }
}

/** Answers a refused prompt with the reason. */
export async function refuse(session: GovernedSession, decided: Decided): Promise<JsonObject> {
  const text = `The prompt was not passed on: ${decided.reason}`;
  const _meta = verdictMeta(await placed(decided));
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, _meta };
  await showUpdate(session, update);
  return { stopReason: "refusal", _meta };
}

export function modifiedPrompt(modified: unknown, prompt: readonly unknown[]): readonly unknown[] {
  const text = isObject(modified) ? modified.prompt : undefined;
  return typeof text === "string" ? [{ type: "text", text }] : prompt;
}

/** How a turn ended that was not answered. */
function endingOf({ context }: GovernedSession, turn: Turn): string {
  if (context.agent.signal.aborted) return "interrupted";
  return turn.isCancelled ? "cancelled" : "error";
}

async function finish(
  session: GovernedSession,
  turn: Turn,
  { stop_reason, answer }: { readonly stop_reason: string; readonly answer: unknown },
): Promise<void> {
  const subject = recordedSubject(session, session.context.enforcement);
  const usage = turn.usage(answer);
  session.cost = turn.costAfter;
  // Requests that were decided one by one are settled with what each used; the last one may have been cut off.
  const isSettled = session.context.profile.decidesPrompts === "per_request";
  await chargePrompt(session, isSettled ? {} : turn.takeUncharged(usage), { entry: turn.verdict });
  const isInterrupted = stop_reason === "interrupted";
  if (session.hasToolCalls) await noteUnended(session, { isCancelled: turn.isCancelled || isInterrupted });
  await flushUpdates(session);
  if (isInterrupted && session.hasToolCalls) await recordUnknown(session);
  const writing = turn.written();
  // Sends what waits for another commit.
  if (writing) await Promise.all([session.context.harness.store.commit([], { durable: false }), writing]);
  const tokens = usageIn(answer);
  session.context.harness.supervisor.turnEnded(usage, { id: turn.id, stop_reason, tokens });
  const completed_at = session.context.now().toISOString();
  noteRun(session, turn, runEnd(stop_reason), { metadata: { stop_reason } });
  const end = { stop_reason, completed_at, usage: { ...usage, ...(turn.counted ? {} : tokens) } };
  forwardIn(session, "post_response", { stop_reason, usage: end.usage });
  const { harness, onFault } = session.context;
  const draft = harness.redacted(turnDraft(subject, turn, end));
  const { clients } = session;
  if (!clients.concluded) return recordTurn(harness, session, draft, { durable: true });
  await clients.concluded(draft);
  // What was kept need not be waited for.
  const { promise, resolve: onPlaced } = Promise.withResolvers<void>();
  const how = { durable: false, relaxed: true, later: true, onPlaced };
  const recording = recordTurn(harness, session, draft, how);
  session.recorded = recording.catch((error: unknown) => {
    onFault(`a turn could not be recorded: ${String(error)}`);
    onPlaced();
  });
  session.placed = promise;
}

/** Notes a transition of the run that a turn is, unless the agent reports its runs itself, in more detail. */
function noteRun(
  session: GovernedSession,
  { id: run_id, started: started_at }: Turn,
  status: "created" | "executing" | "completed" | "failed" | "cancelled",
  more: { readonly metadata?: JsonObject } = {},
): void {
  const { harness, principal, profile, now, onFault } = session.context;
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
  forwardIn(session, "run_lifecycle", lifecycle);
}

async function recordTurn(
  { ledger }: Harness,
  session: GovernedSession,
  draft: Draft,
  how: Pick<RecordOptions<[]>, "durable" | "relaxed" | "later" | "onPlaced">,
): Promise<void> {
  const { entries } = await ledger.record([draft], how);
  session.lastTurn = entries[0]?.cid;
}

/** How a turn ended. */
interface TurnEnd {
  readonly stop_reason: string;
  readonly completed_at: string;
  readonly usage: Readonly<Record<string, unknown>>;
}

/** The entry for a turn, which names the entries it covers. */
function turnDraft(subject: Subject, turn: Turn, { stop_reason, completed_at, usage }: TurnEnd): Draft {
  return {
    quality: "turn",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [`turn:${turn.id}`, stop_reason],
    // In the order in which they are recorded, by name.
    payload: {
      actor: subject.agent,
      completed_at,
      entries: turn.entries,
      ...turn.hashes,
      started_at: turn.started,
      stop_reason,
      timestamp: turn.started,
      turn: turn.id,
      usage,
    },
  };
}

const RUN_ENDS: ReadonlyMap<string, "failed" | "cancelled"> = new Map([
  ["cancelled", "cancelled"],
  ["refusal", "failed"],
  ["error", "failed"],
  ["interrupted", "failed"],
]);

/** The status of a run whose turn ended so. */
export function runEnd(stop_reason: string): "completed" | "failed" | "cancelled" {
  return RUN_ENDS.get(stop_reason) ?? "completed";
}
