import { type JsonObject, membersOf, readUpdate } from "@reins/acp";
import { errorMessage, systemClock } from "@reins/kit";
import { type Decided, UpdateRedactor } from "@reins/supervisor";
import { complete, forwardIn } from "../control/enforce.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { verdictForCard } from "./mcp-servers.ts";
import { cancelTurn } from "./prompts.ts";
import { isFinal, type ToolCall } from "./tool-calls.ts";
import { toolNameOf } from "./tool-name.ts";
import {
  begunBecause,
  decideClaims,
  enforceSeen,
  isMcp,
  isOtherThanDecided,
  REFUSED_BY_AGENT,
  recordRefused,
  ungatedMeta,
} from "./ungated.ts";

const TOOL_UPDATES = new Set(["tool_call", "tool_call_update"]);

/** Applies an update of the agent to its session: tool calls, plans, costs. Returns what clients see of it. */
export function applyUpdate(
  context: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): JsonObject | Promise<JsonObject> {
  if (update.sessionUpdate === "available_commands_update") session.commands = commandsIn(update);
  if (session.replaying) return update;
  const kind = String(update.sessionUpdate);
  if (kind === "current_mode_update" && typeof update.currentModeId === "string")
    session.mode = update.currentModeId;
  if (kind === "plan" && context.profile.runs === "derived")
    session.turn?.awaits(notePlan(context, session, update));
  if (!TOOL_UPDATES.has(kind)) return update;
  const call = session.toolCalls.tell(update, context.now().getTime());
  if (!isFinal(call)) return update;
  if (session.toolCalls.conclude(call.id))
    return conclude(context, session, call, update).then((told) => holdClaims(context, session, call, told));
  // What has ended may still be said to have done more.
  return call.weighed < call.claims.length ? holdClaims(context, session, call, update) : update;
}

/** Whether an update reports state, not history. */
export function tellsState({ sessionUpdate }: JsonObject): boolean {
  return STATES.has(String(sessionUpdate));
}

const STATES = new Set(["available_commands_update", "config_option_update", "current_mode_update"]);

function commandsIn(update: JsonObject): readonly string[] {
  const { availableCommands } = readUpdate("available_commands_update", update);
  return availableCommands.map(({ name }) => name).filter((name) => name !== undefined);
}

/**
 * Records the outcome of a call. One without a verdict, one that was refused and completed all the same, or one that
 * ended with other arguments than were decided, is decided now, and ends the turn if that is a block; one that the agent
 * itself refused was not done.
 */
async function conclude(
  context: GovernorContext,
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const { permit } = call;
  const outcome = String(call.told.status);
  if (permit.kind === "elsewhere" || isMcp(context, session, call)) {
    const meta = await verdictForCard(context, session, call);
    return meta ? { ...update, _meta: { ...membersOf(update._meta), ...meta } } : update;
  }
  // What was refused ends as failed; said to be completed, it was done against the answer.
  if (permit.kind === "refused" && outcome !== "completed") return update;
  if (permit.kind === "given") {
    const { tool, entry } = permit;
    const { enforcement } = context;
    await complete(context, session, { tool, entry, outcome, enforcement });
    if (!(await isOtherThanDecided(context, session, call))) return update;
  } else if (outcome === "failed" && (await begunBecause(context, session, call)) === undefined) {
    recordRefused(context, session, call);
    return { ...update, _meta: { ...membersOf(update._meta), ...REFUSED_BY_AGENT } };
  }
  const told = await enforceSeen(context, session, call, outcome);
  if (told.verdict === "blocked") await endTurn(context, session, toolNameOf(call, context.entry).name, told);
  return { ...update, _meta: { ...membersOf(update._meta), ...ungatedMeta(told) } };
}

/** Compares what an agent says that a call did with what was decided; a block ends the turn. */
async function holdClaims(
  context: GovernorContext,
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const decided = await decideClaims(context, session, call);
  const blocked = decided.find(({ verdict }) => verdict === "blocked");
  const told = blocked ?? decided.at(-1);
  if (!told) return update;
  if (blocked) await endTurn(context, session, toolNameOf(call, context.entry).name, blocked);
  return { ...update, _meta: { ...membersOf(update._meta), ...ungatedMeta(told) } };
}

/** Cancels the turn of the agent, and shows clients why. */
async function endTurn(
  context: GovernorContext,
  session: GovernedSession,
  tool: string,
  decided: Decided,
): Promise<void> {
  const text = `The agent was asked to end the turn: ${tool}: ${decided.reason}.`;
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
    _meta: ungatedMeta(decided),
  };
  await showUpdate(context, session, update);
  if (session.turn) await cancelTurn(context, session, decided.reason);
  else await context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
}

/** A plan is a list of tasks of the turn's run. */
async function notePlan(
  context: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): Promise<void> {
  const { harness, principal, now, redact, onFault } = context;
  const { turn } = session;
  if (!turn || !Array.isArray(update.entries)) return;
  const { entries } = readUpdate("plan", redact(update));
  const tasks = entries.map(({ content = "", status = "" }, index) => ({
    id: String(index + 1),
    title: content,
    status: TASK_STATUS[status] ?? "pending",
  }));
  const list = { run_id: turn.id, session_id: session.id, updated_at: now().toISOString(), tasks };
  forwardIn(context, session, "task_list", list);
  await harness.runs.note(principal, "task_list", list).catch((error: unknown) => {
    onFault(`a plan could not be noted: ${errorMessage(error)}`);
  });
}

const TASK_STATUS: Readonly<Record<string, string | undefined>> = {
  pending: "pending",
  in_progress: "in_progress",
  completed: "completed",
};

/**
 * Shows an update to the clients of a session without the secrets in it. The end of a text may be held back until it is
 * known not to be the begin of one.
 */
export function showUpdate(
  context: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): void | Promise<void> {
  return notifyAll(session, redactorOf(context, session).push(update));
}

/** Shows what was held back, when a turn has ended. */
export async function showRest(session: GovernedSession): Promise<void> {
  await notifyAll(session, session.updates?.end() ?? []);
}

/** Notes what an agent says beside an update, which goes along with what is shown of it next. */
export function noteBeside(
  { redact }: GovernorContext,
  session: GovernedSession,
  { sessionId: _, update: __, _meta, ...beside }: JsonObject,
): void {
  const { reins: ___, ...meta } = membersOf(_meta);
  const hasMeta = Object.keys(meta).length > 0;
  if (!hasMeta && Object.keys(beside).length === 0) return;
  const said = redact({ ...beside, ...(hasMeta && { _meta: meta }) });
  session.beside = { ...session.beside, ...membersOf(said) };
}

function redactorOf(context: GovernorContext, session: GovernedSession): UpdateRedactor {
  session.updates ??= new UpdateRedactor(context.harness.redactor, {
    clock: systemClock,
    onLate: (updates) => {
      notifyAll(session, updates)?.catch((error: unknown) => {
        context.onFault(`an update could not be shown: ${String(error)}`);
      });
    },
  });
  return session.updates;
}

function notifyAll(session: GovernedSession, updates: readonly JsonObject[]): undefined | Promise<void> {
  const notified = updates.map((update) => notify(session, update)).filter((one) => one !== undefined);
  return notified.length > 0 ? Promise.all(notified).then(() => undefined) : undefined;
}

function notify(session: GovernedSession, update: JsonObject): void | Promise<void> {
  session.turn?.saw(update);
  const { id: sessionId, beside } = session;
  session.beside = undefined;
  return session.clients.notify("session/update", { ...beside, sessionId, update });
}
