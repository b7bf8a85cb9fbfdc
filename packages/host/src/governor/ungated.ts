import { readFile, stat } from "node:fs/promises";
import { type JsonObject, metaOf, toolCallIn } from "@reins/acp";
import { type Decided, resultDraft } from "@reins/supervisor";
import { recordedSubject } from "../control/control-point.ts";
import { factsOf } from "../control/enforce.ts";
import { complete, recordIn, toolCallDraft, verdictMeta } from "../control/outcome.ts";
import type { GovernedSession } from "./governed-session.ts";
import { dropPermit, isMcpCall, takeVerdict } from "./mcp-cards.ts";
import { payloadOf } from "./permission.ts";
import { allTexts, decideReported, enforceSeen, hasChanged } from "./reported-acts.ts";
import { cancelTurn } from "./run-turn.ts";
import type { GivenPermit, ToolCall } from "./tool-calls.ts";
import { toolNameOf } from "./tool-name.ts";
import { showUpdate } from "./updates.ts";

/** How much of a file is looked for in what a call gave back. */
const LONGEST_FILE = 256 * 1024;
const TELLING_LINE = 8;

/**
 * Compares everything that an agent reported of calls that it has not ended with what was decided, at the end of a turn or
 * of the session. What was never asked for is decided like what was done: its outcome is unknown. What it only announced
 * before it was cancelled or refused something was not begun. Of allowed calls, those are ended for which Reins wrote a
 * file.
 */
export async function noteUnended(
  session: GovernedSession,
  { isCancelled }: { readonly isCancelled: boolean },
): Promise<void> {
  const { toolCalls } = session;
  for (const call of toolCalls.open) {
    const { kind } = call.permit;
    if (kind === "given" || kind === "refused") {
      await showUngated(session, call, await decideReported(session, call));
      if (call.writes.length > 0) await recordUnended(session, call);
      continue;
    }
    if (!toolCalls.conclude(call.id)) continue;
    const isOnlyAnnounced = call.reported.status === "pending" && !call.ran;
    await endUnperformed(session, call);
    if (takePerformed(session, call)) await showUngated(session, call, await decideReported(session, call));
    else if (isOnlyAnnounced && (isCancelled || toolCalls.isDropped(call))) recordRefused(session, call);
    else {
      const decided = await enforceSeen(session, call, "unknown");
      const others = await decideReported(session, call, { isRecorded: true });
      await showUngated(session, call, [decided, ...others]);
    }
  }
}

/** Records all open calls of a session that has more of them than are remembered, and ends the turn. */
export async function endOpenCalls(session: GovernedSession): Promise<void> {
  const { toolCalls } = session;
  await noteUnended(session, { isCancelled: false });
  for (const call of toolCalls.open) {
    await recordUnended(session, call);
    toolCalls.conclude(call.id);
  }
  await cancelWith(session, "more calls are open than can be looked at");
}

/** Shows clients that a call was decided after the fact. */
async function showUngated(
  session: GovernedSession,
  { id: toolCallId }: ToolCall,
  verdicts: readonly Decided[],
): Promise<void> {
  const decided = strictest(verdicts);
  if (!decided || session.isClosing) return;
  const _meta = ungatedMeta(decided);
  await showUpdate(session, { sessionUpdate: "tool_call_update", toolCallId, _meta });
}

/** The verdict of some that clients see. */
function strictest(verdicts: readonly Decided[]): Decided | undefined {
  return verdicts.find(({ verdict }) => verdict === "blocked") ?? verdicts.at(-1);
}

/** What the gateway decided about a call that it performed; nothing for any other, also of the name of an MCP tool. */
function takePerformed(session: GovernedSession, call: ToolCall): ReturnType<typeof takeVerdict> {
  const { kind } = call.permit;
  if (kind !== "elsewhere" && (kind !== "none" || !isMcpCall(session, call))) return undefined;
  const taken = takeVerdict(session, call);
  if (taken) session.toolCalls.permit(call.id, { kind: "performed" });
  return taken;
}

/** Ends the verdict on a call that was allowed for the gateway, which was never asked to perform it. */
async function endUnperformed(session: GovernedSession, call: ToolCall): Promise<void> {
  const { permit } = call;
  if (permit.kind !== "elsewhere" || !dropPermit(session, call)) return;
  const { tool, entry } = permit;
  await complete(session, { tool, entry, outcome: "not performed", enforcement: "performed" });
}

/** Records a call that the agent refused by itself: nothing was done. */
function recordRefused(session: GovernedSession, call: ToolCall): void {
  const tool = toolNameOf(call, session.context.entry).name;
  const subject = recordedSubject(session, "observed");
  const began = toolCallDraft(subject, call, { tool, verdict: undefined });
  const ended = resultDraft(subject, { tool, outcome: "refused by the agent" }, undefined);
  recordIn(session, [began, { ...ended, tags: [...(ended.tags ?? []), "refused"] }]);
}

/**
 * Why a call that failed unasked was begun all the same; nothing where all there is to see says that the agent refused
 * it by itself. A command that fails may have done its work, so one is always taken for begun, unless it was dropped
 * when another was refused. A file counts as written when it changed since the call was announced, and as read when what
 * the call gave back holds a line of it. Where neither shows, what the agent reported as running was started.
 */
async function begunBecause(session: GovernedSession, call: ToolCall): Promise<string | undefined> {
  if (toolCallIn(call.reported).content.some(({ type }) => type === "terminal")) return "it had a terminal";
  const facts = await factsOf(session, payloadOf(call, session.context.entry), "agent");
  if (!facts) return "its effects are unknown";
  const { effects, opaque } = facts;
  const runs = effects.some(({ kind }) => kind === "exec" || kind === "net");
  if (runs && (call.ran || !session.toolCalls.isDropped(call)))
    return "a command that fails may have done its work";
  for (const effect of effects) {
    if (!("path" in effect) || effect.place === "unknown") continue;
    if (effect.kind === "write" && (await hasChanged(effect.path, call.since)))
      return "a file that it names was changed";
    if (effect.kind === "read" && (await isQuoted(effect.path, call))) return "it gave a file's content";
  }
  const isUnclear = opaque || effects.some((effect) => "path" in effect && effect.place === "unknown");
  return isUnclear && call.ran ? "what it did while it ran is unknown" : undefined;
}

/** Whether what a call gave back holds a line of a file. */
async function isQuoted(path: string, { reported }: ToolCall): Promise<boolean> {
  const given = allTexts([reported.content, reported.rawOutput]).join("\n");
  if (given === "") return false;
  try {
    if ((await stat(path)).size > LONGEST_FILE) return given.length > LONGEST_FILE;
    const lines = (await readFile(path, "utf8")).split("\n").map((line) => line.trim());
    return lines.some((line) => line.length >= TELLING_LINE && given.includes(line));
  } catch {
    return false;
  }
}

/** What clients see of a call that was decided after the fact. */
export function ungatedMeta(decided: Decided): JsonObject {
  return { reins: { ...verdictMeta(decided).reins, ungated: true } };
}

/** What clients see of a call that the agent refused by itself. */
const REFUSED_BY_AGENT: JsonObject = { reins: { outcome: "refused by the agent" } };

/**
 * Records the outcome of a call, and compares everything that the agent reported of it with what was decided. What no
 * verdict covers is decided now, and ends the turn if that is a block; what the agent itself refused was not done.
 */
export async function concludeCall(
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const { permit } = call;
  const outcome = String(call.reported.status);
  const performed = takePerformed(session, call);
  await endUnperformed(session, call);
  if (performed) {
    const meta = await performed.meta;
    return compareCall(session, call, meta ? withMeta(update, meta) : update);
  }
  if (permit.kind === "given") await completeCall(session, call, permit, outcome);
  if (permit.kind === "given" || permit.kind === "refused") return compareCall(session, call, update);
  if (outcome === "failed" && (await begunBecause(session, call)) === undefined) {
    recordRefused(session, call);
    return compareCall(session, call, withMeta(update, REFUSED_BY_AGENT), { isRecorded: true });
  }
  const decided = await enforceSeen(session, call, outcome);
  return compareCall(session, call, update, { isRecorded: true, verdicts: [decided] });
}

/** Compares what an agent says that a call is and did with what was decided; a block ends the turn. */
export async function compareCall(
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
  { isRecorded = false, verdicts = [] }: { isRecorded?: boolean; verdicts?: readonly Decided[] } = {},
): Promise<JsonObject> {
  const decided = strictest([...verdicts, ...(await decideReported(session, call, { isRecorded }))]);
  if (!decided) return update;
  if (decided.verdict === "blocked")
    await endTurn(session, toolNameOf(call, session.context.entry).name, decided);
  return withMeta(update, ungatedMeta(decided));
}

/** Cancels the turn of the agent, and shows clients why. */
export async function endTurn(session: GovernedSession, tool: string, decided: Decided): Promise<void> {
  const text = `The agent was asked to end the turn: ${tool}: ${decided.reason}.`;
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
    _meta: ungatedMeta(decided),
  };
  await showUpdate(session, update);
  await cancelWith(session, decided.reason);
}

/** Cancels what an agent does in a session, in a turn or outside of one. */
async function cancelWith(session: GovernedSession, reason: string): Promise<void> {
  if (session.turn) await cancelTurn(session, reason);
  else await session.context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
}

/** Records allowed calls without an end as of unknown outcome, after the agent has ended. */
export async function recordUnknown(session: GovernedSession): Promise<void> {
  for (const call of session.toolCalls.unfinished) await recordUnended(session, call);
}

async function recordUnended(session: GovernedSession, call: ToolCall): Promise<void> {
  if (call.permit.kind !== "given" || !session.toolCalls.conclude(call.id)) return;
  await completeCall(session, call, call.permit, "unknown");
}

/** Records the one result of an allowed call, with the files that Reins wrote for it. */
async function completeCall(
  session: GovernedSession,
  { writes }: ToolCall,
  { tool, entry }: GivenPermit,
  outcome: string,
): Promise<void> {
  const { enforcement } = session.context;
  await complete(session, { tool, entry, enforcement, outcome, written: await Promise.all(writes) });
}

/** An update with what clients see of its verdict. */
export function withMeta(update: JsonObject, meta: JsonObject): JsonObject {
  return { ...update, _meta: { ...metaOf(update), ...meta } };
}
