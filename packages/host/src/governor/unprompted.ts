import { type JsonObject, readUpdate } from "@reins/acp";
import type { Decided } from "@reins/supervisor";
import { enforce } from "../control/enforce.ts";
import { chargePrompt, placed } from "../control/outcome.ts";
import type { GovernedSession } from "./governed-session.ts";
import { ungatedMeta } from "./ungated.ts";
import { isReplayed, showUpdate } from "./updates.ts";

/** The name of work without a prompt, in rules and records. */
export const UNPROMPTED = "session/unprompted_turn";

/** Agents send the last updates of a turn after its response. */
export const LATE_MS = 1_000;
/** Some agents greet when a session starts. */
const GREETING_MS = 5_000;
/** After this pause, the next update starts other work. */
const QUIET_MS = 10_000;
/** How often an agent that keeps working is cancelled, and for how long before it is ended. */
const AGAIN_MS = 2_000;
const PATIENCE_MS = 10_000;

/** Updates that show work, beside tool calls. */
const WORDS = new Set(["agent_message_chunk", "agent_thought_chunk", "plan"]);

/** Work of an agent outside of every turn. */
export interface UnpromptedTurn {
  readonly began: number;
  readonly mayGoOn: Promise<boolean>;
  last: number;
  cancelledAt: number;
}

/** Notices an update that shows work outside of every turn, and charges what it costs. */
export function noticeUpdate(session: GovernedSession, update: JsonObject): void {
  const kind = String(update.sessionUpdate);
  if (kind === "usage_update") charge(session, update);
  if (isWithinTurn(session) || isReplayed(session, update)) return;
  const since = session.context.now().getTime() - session.idleSince;
  const isLate = since < (session.lastTurn === undefined ? GREETING_MS : LATE_MS);
  const isWork = WORDS.has(kind) ? !isLate : kind === "tool_call" || isCallAtWork(session, update, isLate);
  if (isWork) void mayWork(session, kind);
}

/** Whether an update shows a call at work: one that is new, or one of a turn that goes on after it. */
function isCallAtWork(session: GovernedSession, update: JsonObject, isLate: boolean): boolean {
  if (update.sessionUpdate !== "tool_call_update") return false;
  const known = session.hasToolCalls ? session.toolCalls.get(String(update.toolCallId)) : undefined;
  return !known || (update.status === "in_progress" && !isLate);
}

/** Whether an agent may continue: always in a turn, outside of one only if a rule allows it. */
export async function mayWork(session: GovernedSession, what: string): Promise<boolean> {
  if (isWithinTurn(session)) return true;
  const now = session.context.now().getTime();
  const known = session.unprompted;
  if (known && now - known.last < QUIET_MS) {
    known.last = now;
    if (!(await known.mayGoOn)) await insist(session, known);
    return known.mayGoOn;
  }
  const mayGoOn = decide(session, what).catch((error: unknown) => {
    session.context.onFault(`unprompted work could not be decided: ${String(error)}`);
    return false;
  });
  session.unprompted = { began: now, mayGoOn, last: now, cancelledAt: now };
  return mayGoOn;
}

function isWithinTurn({ context, turn, isClosing, isClosed }: GovernedSession): boolean {
  return !context.profile.isObserved || turn !== undefined || (isClosing && !isClosed);
}

/** Charges it like a prompt, and has it decided like an action without a verdict before. */
async function decide(session: GovernedSession, message: string): Promise<boolean> {
  const asked = await enforce(session, { kind: "unprompted_work", message });
  const payload = { tool_name: UNPROMPTED, arguments: { began_with: message } };
  const seen = await enforce(session, { kind: "after_the_fact", payload, tools: "acp" });
  const stopped = [asked, seen].find(({ kind }) => kind === "refused");
  if (stopped) await stop(session, await placed(stopped.verdict));
  return stopped === undefined;
}

async function stop(session: GovernedSession, decided: Decided): Promise<void> {
  await session.context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
  const text = `The agent works without a prompt, and was asked to stop: ${decided.reason}.`;
  const content = { type: "text", text };
  await showUpdate(session, {
    sessionUpdate: "agent_message_chunk",
    content,
    _meta: ungatedMeta(decided),
  });
}

/** Cancels an agent that keeps working again, and ends it after a while. */
async function insist(session: GovernedSession, unprompted: UnpromptedTurn): Promise<void> {
  const now = session.context.now().getTime();
  if (now - unprompted.began > PATIENCE_MS) {
    session.context.stop?.("it keeps working without a prompt");
    return;
  }
  if (now - unprompted.cancelledAt < AGAIN_MS) return;
  unprompted.cancelledAt = now;
  await session.context.agent.notify("session/cancel", { sessionId: session.agentSessionId });
}

/** Charges what a session costs outside of its turns, also late or while it is closed. What is replayed was charged. */
function charge(session: GovernedSession, update: JsonObject): void {
  const { profile, isMetered } = session.context;
  if (!profile.isObserved || isMetered || session.turn || session.replaying) return;
  const { amount = session.cost } = readUpdate("usage_update", update).cost;
  const spent = amount - session.cost;
  if (spent <= 0) return;
  session.cost = amount;
  chargePrompt(session, { cost: spent }, { enforcement: "observed" }).catch((error: unknown) =>
    session.context.onFault(`a cost could not be charged: ${String(error)}`),
  );
}
