import { isObject, type JsonObject, metaOf, readUpdate, updateIn } from "@reins/acp";
import { errorMessage, systemClock } from "@reins/kit";
import { type Redact, readReport, UpdateRedactor } from "@reins/supervisor";
import { forwardIn } from "../control/outcome.ts";
import type { GovernedSession } from "./governed-session.ts";
import { mayNotify } from "./known-methods.ts";
import { noteChild, noteSettings } from "./reported-changes.ts";
import { isFinal } from "./tool-calls.ts";
import { compareCall, concludeCall, endOpenCalls, noteUnended } from "./ungated.ts";
import { mayWork, noticeUpdate } from "./unprompted.ts";

/** Forwards what an agent sends in a session to the clients, without secrets, after what it shows was enforced. */
export function forwardFromAgent(
  session: GovernedSession,
  method: string,
  params: JsonObject,
): void | Promise<void> {
  const { harness, onFault } = session.context;
  if (method !== "session/update") {
    if (!mayNotify(method))
      return onFault(`the agent sent ${JSON.stringify(method.slice(0, 80))}, which is not for agents`);
    return session.clients.notify(method, redactObject(harness.redact, { ...params, sessionId: session.id }));
  }
  if (!isObject(params.update)) return onFault("the agent sent an update that is no object");
  const show = (update: JsonObject) => (session.isClosing ? undefined : showOrHold(session, update));
  if (session.turn) session.turn.noteUsage(params.update);
  else noticeUpdate(session, params.update);
  noteBeside(session, params);
  // Most updates need no waiting, and thousands of them come at once.
  const applied = applyUpdate(session, params.update);
  return applied instanceof Promise ? applied.then(show) : show(applied);
}

/** Shows an update, unless it is part of a message that may declare something. */
function showOrHold(session: GovernedSession, update: JsonObject): void | Promise<void> {
  const { held } = session.turn ?? {};
  return held
    ? notifyAll(
        session,
        held.take(update).flatMap((one) => redactorOf(session).push(one)),
      )
    : showUpdate(session, update);
}

/**
 * Forwards what a child session of an agent does as its parent's work. Reins did not start the child and refuses its
 * requests, so its calls are decided after the fact; its words stay with the agent.
 */
export function forwardFromChild(parent: GovernedSession, params: JsonObject): void | Promise<void> {
  const { sessionId, kind = "", update } = updateIn(params);
  if (!TOOL_UPDATES.has(kind) && kind !== "subagent_update") return;
  const { toolCallId } = update;
  const named = typeof toolCallId === "string" && { toolCallId: `${sessionId}/${toolCallId}` };
  return forwardFromAgent(parent, "session/update", { update: { ...update, ...named } });
}

/**
 * Records the tool calls that an agent reports in a session that was closed or that Reins does not know, and stops it
 * there. Clients do not see them.
 */
export async function recordStray(session: GovernedSession, params: JsonObject): Promise<void> {
  const { kind = "", update } = updateIn(params);
  // The next start records how a turn that was cut off ended.
  if (session.isCut || !TOOL_UPDATES.has(kind) || !session.context.profile.isObserved) return;
  await applyToolCall(session, update);
  await noteUnended(session, { isCancelled: false });
  await mayWork(session, kind);
}

const TOOL_UPDATES = new Set(["tool_call", "tool_call_update"]);

/** Applies an update of the agent to its session: tool calls, plans, costs. Returns what clients see of it. */
function applyUpdate(session: GovernedSession, update: JsonObject): JsonObject | Promise<JsonObject> {
  const kind = String(update.sessionUpdate);
  if (kind === "available_commands_update") session.commands = commandsIn(update);
  if (isReplayed(session, update)) return update;
  if (TOOL_UPDATES.has(kind)) return applyToolCall(session, update);
  if (kind === "subagent_update") return noteChild(session, update);
  if (kind === "current_mode_update" || kind === "config_option_update") return noteSettings(session, update);
  if (kind === "plan" && session.context.profile.runs === "derived")
    session.turn?.awaits(notePlan(session, update));
  return update;
}

function applyToolCall(session: GovernedSession, update: JsonObject): JsonObject | Promise<JsonObject> {
  const call = session.toolCalls.note(update, session.context.now().getTime());
  if (session.toolCalls.isFull) return endOpenCalls(session).then(() => update);
  if (!isFinal(call)) return update;
  if (session.toolCalls.conclude(call.id)) return concludeCall(session, call, update);
  // What has ended may still be said to have done more.
  const isNew = call.weighed < call.claims.length || call.compared < call.acts.length;
  return isNew ? compareCall(session, call, update) : update;
}

/**
 * Whether an update repeats what was before, while its agent loads the session. Of a session that began in another process
 * of the agent, every update is taken for that.
 */
export function isReplayed(session: GovernedSession, update: JsonObject): boolean {
  if (!session.replaying) return false;
  if (!session.knowsAllCalls || !TOOL_UPDATES.has(String(update.sessionUpdate))) return true;
  return session.hasToolCalls && session.toolCalls.repeats(update);
}

/** Whether an update reports state, not history. */
export function isStateUpdate(params: JsonObject): boolean {
  return STATES.has(updateIn(params).kind ?? "");
}

const STATES = new Set(["available_commands_update", "config_option_update", "current_mode_update"]);

function commandsIn(update: JsonObject): readonly string[] {
  const { availableCommands } = readUpdate("available_commands_update", update);
  return availableCommands.map(({ name }) => name).filter((name) => name !== undefined);
}

/** A plan is a list of tasks of the turn's run. */
async function notePlan(session: GovernedSession, update: JsonObject): Promise<void> {
  const { harness, principal, now, onFault } = session.context;
  const { turn } = session;
  if (!turn || !Array.isArray(update.entries)) return;
  const { entries } = readUpdate("plan", harness.redact(update));
  const tasks = entries.map(({ content = "", status = "" }, index) => ({
    id: String(index + 1),
    title: content,
    status: TASK_STATUS[status] ?? "pending",
  }));
  const list = { run_id: turn.id, session_id: session.id, updated_at: now().toISOString(), tasks };
  forwardIn(session, "task_list", list);
  const noting = harness.runs.note(principal, "task_list", readReport("task_list", list), { isOwn: true });
  await noting.catch((error: unknown) => onFault(`a plan could not be noted: ${errorMessage(error)}`));
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
export function showUpdate(session: GovernedSession, update: JsonObject): void | Promise<void> {
  return notifyAll(session, redactorOf(session).push(update));
}

/** Shows what was held back, when a turn has ended. */
export async function flushUpdates(session: GovernedSession): Promise<void> {
  await notifyAll(session, session.updates?.end() ?? []);
}

/** Notes what an agent sends beside an update; it goes along with what is shown of it next. */
function noteBeside(session: GovernedSession, params: JsonObject): void {
  const { redact } = session.context.harness;
  const { sessionId: _, update: __, _meta: ___, ...beside } = params;
  const { reins: ____, ...meta } = metaOf(params);
  const hasMeta = Object.keys(meta).length > 0;
  if (!hasMeta && Object.keys(beside).length === 0) return;
  const said = redactObject(redact, { ...beside, ...(hasMeta && { _meta: meta }) });
  session.beside = { ...session.beside, ...said };
}

/** An object without the secrets in it. */
export function redactObject(redact: Redact, value: JsonObject): JsonObject {
  const clean = redact(value);
  return isObject(clean) ? clean : {};
}

function redactorOf(session: GovernedSession): UpdateRedactor {
  session.updates ??= new UpdateRedactor(session.context.harness.redactor, {
    clock: systemClock,
    onLate: (updates) => {
      notifyAll(session, updates)?.catch((error: unknown) => {
        session.context.onFault(`an update could not be shown: ${String(error)}`);
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
  if (session.isClosed) return;
  session.turn?.note(update);
  const { id: sessionId, beside } = session;
  session.beside = undefined;
  return session.clients.notify("session/update", { ...beside, sessionId, update });
}
