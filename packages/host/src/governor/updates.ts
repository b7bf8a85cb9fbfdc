import { type Decided, resultDraft, UNGATED } from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import { agentOf, type GovernorContext, recordIn, settingIn, subjectIn } from "./context.ts";
import { toolCallDraft } from "./entries.ts";
import type { GovernedSession } from "./governed-session.ts";
import { payloadOf } from "./permission.ts";
import { cancelTurn } from "./prompts.ts";
import { placed, verdictMeta } from "./refusal.ts";
import { showUpdate } from "./shown-updates.ts";
import { isFinal, type ToolCall } from "./tool-calls.ts";
import { namesOf, toolNameOf } from "./tool-name.ts";

const TOOL_UPDATES = new Set(["tool_call", "tool_call_update"]);

/** Takes in an update of the agent: what it says of tool calls, plans and costs. Gives what is to be shown of it. */
export function takeUpdate(
  context: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): JsonObject | Promise<JsonObject> {
  if (update.sessionUpdate === "available_commands_update") session.commands = commandsIn(update);
  if (session.replaying) return update;
  const kind = String(update.sessionUpdate);
  if (kind === "current_mode_update" && typeof update.currentModeId === "string")
    session.mode = update.currentModeId;
  // Ours tells of its tasks itself.
  if (kind === "plan" && !context.isOurs) session.turn?.awaits(notePlan(context, session, update));
  if (!TOOL_UPDATES.has(kind)) return update;
  const call = session.toolCalls.tell(update);
  if (!call || !isFinal(call) || !session.toolCalls.conclude(call.id)) return update;
  return conclude(context, session, call, update);
}

/** Whether an update tells how things are, not what was. */
export function tellsState({ sessionUpdate }: JsonObject): boolean {
  return STATES.has(String(sessionUpdate));
}

const STATES = new Set(["available_commands_update", "config_option_update", "current_mode_update"]);

function commandsIn({ availableCommands }: JsonObject): readonly string[] {
  const commands: unknown[] = Array.isArray(availableCommands) ? availableCommands : [];
  return commands.map((command) => membersOf(command).name).filter((name) => typeof name === "string");
}

/** Records what came of a call; one that nobody decided about is decided now, and ends the turn if that is a block. */
async function conclude(
  context: GovernorContext,
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const { permit } = call;
  if (permit.kind === "refused" || permit.kind === "elsewhere") return update;
  const tool = permit.kind === "given" ? permit.tool : toolNameOf(call, context.entry).name;
  if (namesOf(call, context.entry).some((name) => session.mcpTools.has(name))) return update;
  const outcome = String(call.told.status);
  if (permit.kind === "given") {
    const subject = subjectIn(context, session, context.enforcement);
    const end = { event_type: "pre_action", entry: permit.entry };
    const settled = await context.harness.supervisor.settle(subject, end);
    recordIn(context, session, [resultDraft(subject, { tool, outcome }, settled)]);
    return update;
  }
  const decided = await decideAfterwards(context, session, call);
  await recordUngated(context, session, { call, tool, outcome, decided });
  const told = await placed(decided);
  if (told.verdict === "blocked") await endTurn(context, session, tool, told);
  return { ...update, _meta: { ...membersOf(update._meta), ...ungatedMeta(told) } };
}

/** What an agent did without asking is decided after the fact, at the level that says so. */
function decideAfterwards(
  context: GovernorContext,
  session: GovernedSession,
  call: ToolCall,
): Promise<Decided> {
  const event = {
    event_type: "post_action",
    session_id: session.id,
    agent_id: agentOf(context.entry, session),
    depth: session.depth,
    payload: payloadOf(call, context.entry),
  };
  const setting = settingIn(session, session.workplace);
  return context.harness.supervisor.decide(event, subjectIn(context, session, "observed"), setting);
}

async function recordUngated(
  context: GovernorContext,
  session: GovernedSession,
  { call, tool, outcome, decided }: { call: ToolCall; tool: string; outcome: string; decided: Decided },
): Promise<void> {
  const subject = subjectIn(context, session, "observed");
  const { entry } = decided;
  if (entry !== undefined) {
    session.turn?.entries.push(entry);
    await context.harness.supervisor.settle(subject, { event_type: "post_action", entry });
  }
  const began = toolCallDraft(subject, call, { tool, verdict: undefined });
  recordIn(context, session, [
    { ...began, tags: [...(began.tags ?? []), UNGATED] },
    resultDraft(subject, { tool, outcome }, undefined),
  ]);
}

function ungatedMeta(decided: Decided): JsonObject {
  return { reins: { ...verdictMeta(decided).reins, ungated: true } };
}

/** The agent is stopped, and the people in front of it see why. */
async function endTurn(
  context: GovernorContext,
  session: GovernedSession,
  tool: string,
  decided: Decided,
): Promise<void> {
  const text = `The turn was ended: ${tool} ${decided.reason}.`;
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
  { harness, principal, now, redact, onFault }: GovernorContext,
  session: GovernedSession,
  update: JsonObject,
): Promise<void> {
  const { turn } = session;
  const entries = redact(update.entries);
  if (!turn || !Array.isArray(entries)) return;
  const tasks = entries.map(membersOf).map((entry, index) => ({
    id: String(index + 1),
    title: String(entry.content ?? ""),
    status: TASK_STATUS[String(entry.status)] ?? "pending",
  }));
  const list = { run_id: turn.id, session_id: session.id, updated_at: now().toISOString(), tasks };
  await harness.runs.note(principal, "task_list", list).catch((error: unknown) => {
    onFault(`a plan could not be noted: ${error instanceof Error ? error.message : String(error)}`);
  });
}

const TASK_STATUS: Readonly<Record<string, string | undefined>> = {
  pending: "pending",
  in_progress: "in_progress",
  completed: "completed",
};
