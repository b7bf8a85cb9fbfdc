import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, metaOf, readUpdate, toolCallIn } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import { type Decided, resultDraft } from "@reins/supervisor";
import { recordedSubject } from "../control/control-point.ts";
import { enforce, factsOf } from "../control/enforce.ts";
import { complete, recordIn, toolCallDraft } from "../control/outcome.ts";
import { placed, verdictMeta } from "../control/verdict.ts";
import { type Claim, claimsBeyond, MOST_CLAIMS, payloadOfClaim } from "./claims.ts";
import { asksIn } from "./client-requests.ts";
import type { GovernedSession } from "./governed-session.ts";
import { isMcpCall, takeVerdict } from "./mcp-servers.ts";
import { payloadOf } from "./permission.ts";
import { cancelTurn } from "./run-turn.ts";
import { comparedToDecided, type ToolCall } from "./tool-calls.ts";
import { toolNameOf } from "./tool-name.ts";
import { showUpdate } from "./updates.ts";

/** File times lag behind the clock by as much as this. */
const CLOCK_LAG_MS = 20;
/** How much of a file is looked for in what a call gave back. */
const LONGEST_FILE = 256 * 1024;
const TELLING_LINE = 8;

/** Enforces what an agent did without asking: decided after the fact, at the level that says so, and recorded. */
async function enforceSeen(
  session: GovernedSession,
  call: ToolCall,
  outcome: string,
  tools: "agent" | "acp" = "agent",
): Promise<Decided> {
  const payload = payloadOf(call, session.context.entry);
  const point = { kind: "after_the_fact", payload, tools, seen: { call, outcome } } as const;
  return placed((await enforce(session, point)).verdict);
}

/**
 * Decides after the fact about what an agent says that a call did beyond what was decided: another file than was allowed,
 * a command behind a call that runs none. What a call that failed says counts where it can be seen on the disk.
 */
async function decideClaims(session: GovernedSession, call: ToolCall): Promise<readonly Decided[]> {
  const { permit, reported, since } = call;
  const said = session.toolCalls.weigh(call.id);
  if (!session.context.profile.isObserved || said.length === 0) return [];
  const isCarriedOut = session.toolCalls.get(call.id)?.permit.kind === "performed";
  const hasFailed = reported.status === "failed" && permit.kind !== "given";
  const counted: Claim[] = [];
  for (const claim of said) {
    // Of what an MCP server read, the server says where it lies.
    if (isCarriedOut && claim.kind === "read") continue;
    if (hasFailed && (claim.kind !== "write" || !(await hasChanged(claim.path, since - CLOCK_LAG_MS))))
      continue;
    counted.push(claim);
  }
  const decided = permit.kind === "given" ? permit.decided?.payload : payloadOf(call, session.context.entry);
  const beyond = await claimsBeyond(session, counted, isCarriedOut ? undefined : decided);
  if (call.claims.length > MOST_CLAIMS) return [await decideClaim(session, call, MORE)];
  const verdicts: Decided[] = [];
  for (const claim of beyond) verdicts.push(await decideClaim(session, call, claim));
  return verdicts;
}

/** Stands for claims of a call beyond the limit. */
const MORE: Claim = { kind: "exec", terminal: "more than can be looked at" };

async function decideClaim(session: GovernedSession, call: ToolCall, claim: Claim): Promise<Decided> {
  const { tool_name: name, arguments: rawInput } = payloadOfClaim(claim);
  const { status, title } = call.reported;
  const done = { ...call, named: name, reported: { name, rawInput, title, status } };
  return enforceSeen(session, done, String(status), "acp");
}

/**
 * Records calls that an agent announced in a turn, never asked for and never ended. Their outcome is unknown, so
 * it is decided like what was done. What it only announced before it was cancelled or refused something was not begun.
 * Of allowed calls without an end, those are recorded for which Reins wrote a file.
 */
export async function noteUnended(
  session: GovernedSession,
  { isCancelled }: { readonly isCancelled: boolean },
): Promise<void> {
  const { toolCalls } = session;
  for (const call of toolCalls.unfinished) if (call.writes.length > 0) await recordUnended(session, call);
  for (const call of toolCalls.unasked) {
    if (!toolCalls.conclude(call.id) || takePerformed(session, call)) continue;
    const isOnlyAnnounced = call.reported.status === "pending" && !call.ran;
    if (isOnlyAnnounced && (isCancelled || toolCalls.hasRefused)) recordRefused(session, call);
    else {
      const decided = await enforceSeen(session, call, "unknown");
      const _meta = ungatedMeta(decided);
      await showUpdate(session, { sessionUpdate: "tool_call_update", toolCallId: call.id, _meta });
    }
  }
}

/** What the gateway decided about a call that it performed; nothing for any other, also of the name of an MCP tool. */
function takePerformed(session: GovernedSession, call: ToolCall): ReturnType<typeof takeVerdict> {
  const { kind } = call.permit;
  if (kind !== "elsewhere" && (kind !== "none" || !isMcpCall(session, call))) return undefined;
  const taken = takeVerdict(session, call);
  if (taken) session.toolCalls.permit(call.id, { kind: "performed" });
  return taken;
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
  if (runs && (call.ran || !session.toolCalls.hasRefused))
    return "a command that fails may have done its work";
  for (const effect of effects) {
    if (!("path" in effect) || effect.place === "unknown") continue;
    if (effect.kind === "write" && (await hasChanged(effect.path, call.since - CLOCK_LAG_MS)))
      return "a file that it names was changed";
    if (effect.kind === "read" && (await isQuoted(effect.path, call))) return "it gave a file's content";
  }
  const isUnclear = opaque || effects.some((effect) => "path" in effect && effect.place === "unknown");
  return isUnclear && call.ran ? "what it did while it ran is unknown" : undefined;
}

/**
 * Whether a call was allowed for something else than it is said to have run with. What is only added, such
 * as the folder that a command runs in anyway, is nothing else as long as it does the same.
 */
async function isOtherThanDecided(session: GovernedSession, call: ToolCall): Promise<boolean> {
  const compared = comparedToDecided(call);
  if (isNamedOtherwise(call)) return true;
  if (compared !== "more" || call.permit.kind !== "given") return compared === "other";
  const decided = { ...call, reported: { ...call.reported, rawInput: call.permit.decided?.arguments } };
  const [before, after] = await Promise.all(
    [decided, call].map(async (one) => {
      const facts = await factsOf(session, payloadOf(one, session.context.entry), "agent");
      return facts && [facts.effects, facts.opaque];
    }),
  );
  return before === undefined || !isDeepStrictEqual(before, after);
}

/** Whether an agent names the tool of a call otherwise than when it was decided. */
function isNamedOtherwise({ permit, reported: { name } }: ToolCall): boolean {
  const before = permit.kind === "given" ? permit.decided?.reported.name : undefined;
  return typeof before === "string" && typeof name === "string" && name !== before;
}

/** A call by the name that its agent reported last, unless that is the name of an MCP tool, which it did not call. */
function asReported({ mcpTools }: GovernedSession, call: ToolCall): ToolCall {
  const { name } = call.reported;
  return isNamedOtherwise(call) && typeof name === "string" && !mcpTools.has(name)
    ? { ...call, named: name }
    : call;
}

/** Whether a file, or what is left of the way to it, was changed after a time. */
async function hasChanged(path: string, since: number): Promise<boolean> {
  try {
    return (await stat(path)).ctimeMs >= since;
  } catch {
    const parent = dirname(path);
    return parent !== path && hasChanged(parent, since);
  }
}

/** Whether what a call gave back holds a line of a file. */
async function isQuoted(path: string, { reported }: ToolCall): Promise<boolean> {
  const given = textsIn([reported.content, reported.rawOutput]).join("\n");
  if (given === "") return false;
  try {
    if ((await stat(path)).size > LONGEST_FILE) return given.length > LONGEST_FILE;
    const lines = (await readFile(path, "utf8")).split("\n").map((line) => line.trim());
    return lines.some((line) => line.length >= TELLING_LINE && given.includes(line));
  } catch {
    return false;
  }
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** What clients see of a call that was decided after the fact. */
export function ungatedMeta(decided: Decided): JsonObject {
  return { reins: { ...verdictMeta(decided).reins, ungated: true } };
}

/** What clients see of a call that the agent refused by itself. */
const REFUSED_BY_AGENT: JsonObject = { reins: { outcome: "refused by the agent" } };

/**
 * Records the outcome of a call. One without a verdict, one that was refused and completed all the same, or one that
 * ended with other arguments than were decided, is decided now, and ends the turn if that is a block; one that the agent
 * itself refused was not done.
 */
export async function concludeCall(
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const { permit } = call;
  const outcome = String(call.reported.status);
  const performed = takePerformed(session, call);
  if (performed) {
    const meta = await performed.meta;
    return meta ? withMeta(update, meta) : update;
  }
  // What was refused ends as failed; said to be completed, it was done against the answer.
  if (permit.kind === "refused" && outcome !== "completed") return update;
  if (permit.kind === "given") {
    await completeCall(session, call, permit, outcome);
    if (!(await isOtherThanDecided(session, call))) return update;
  } else if (outcome === "failed" && (await begunBecause(session, call)) === undefined) {
    recordRefused(session, call);
    return withMeta(update, REFUSED_BY_AGENT);
  }
  const done = asReported(session, call);
  const decided = await enforceSeen(session, done, outcome);
  if (decided.verdict === "blocked")
    await endTurn(session, toolNameOf(done, session.context.entry).name, decided);
  return withMeta(update, ungatedMeta(decided));
}

/** Compares what an agent says that a call did with what was decided; a block ends the turn. */
export async function weighClaims(
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
): Promise<JsonObject> {
  const decided = await decideClaims(session, call);
  const blocked = decided.find(({ verdict }) => verdict === "blocked");
  const last = blocked ?? decided.at(-1);
  if (!last) return update;
  if (blocked) await endTurn(session, toolNameOf(call, session.context.entry).name, blocked);
  return withMeta(update, ungatedMeta(last));
}

/** Cancels the turn of the agent, and shows clients why. */
async function endTurn(session: GovernedSession, tool: string, decided: Decided): Promise<void> {
  const text = `The agent was asked to end the turn: ${tool}: ${decided.reason}.`;
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
    _meta: ungatedMeta(decided),
  };
  await showUpdate(session, update);
  if (session.turn) await cancelTurn(session, decided.reason);
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
  { tool, entry }: Extract<ToolCall["permit"], { readonly kind: "given" }>,
  outcome: string,
): Promise<void> {
  const { enforcement } = session.context;
  await complete(session, { tool, entry, enforcement, outcome, written: await Promise.all(writes) });
}

/** An update with what clients see of its verdict. */
function withMeta(update: JsonObject, meta: JsonObject): JsonObject {
  return { ...update, _meta: { ...metaOf(update), ...meta } };
}

/** The name of a change of mode, in rules and records. */
const SET_MODE = "session/set_mode";
/** How long an agent may take to go back into its mode. */
const RESTORE_MS = 10_000;

/**
 * Notes the mode that an agent reports. It is a claim; one that the agent does not ask in, though its launch profile put it
 * into one in which it does, is decided after the fact, and Reins sets the mode back.
 */
export function noteMode(
  session: GovernedSession,
  mode: string,
  update: JsonObject,
): JsonObject | Promise<JsonObject> {
  const { entry, launch } = session.context;
  const { pinnedMode, pendingMode, turn } = session;
  session.claimedMode = mode;
  if (turn?.mayLeaveMode === true) session.allowedMode = mode;
  const isSet = [pinnedMode, pendingMode, session.allowedMode, launch.mode].includes(mode);
  if (pinnedMode === undefined || isSet || asksIn(entry, mode)) return update;
  return restoreMode(session, { mode, pinnedMode, update });
}

async function restoreMode(
  session: GovernedSession,
  {
    mode,
    pinnedMode,
    update,
  }: { readonly mode: string; readonly pinnedMode: string; readonly update: JsonObject },
): Promise<JsonObject> {
  const { agent, newId, onFault } = session.context;
  const rawInput = { mode, asks: "false" };
  const call = { id: newId(), reported: { name: SET_MODE, rawInput } };
  const payload = { tool_name: SET_MODE, arguments: rawInput };
  const point = {
    kind: "after_the_fact",
    payload,
    tools: "acp",
    seen: { call, outcome: "completed" },
  } as const;
  const decided = await placed((await enforce(session, point)).verdict);
  const reason = `the agent left the mode in which it asks, for ${JSON.stringify(mode.slice(0, 80))}`;
  const { turn, agentSessionId: sessionId } = session;
  const isAgain = turn?.hasLeftMode === true;
  if (turn) turn.hasLeftMode = true;
  // The agent answers only after this update was handled.
  const restored = agent
    .request(SET_MODE, { sessionId, modeId: pinnedMode }, { signal: AbortSignal.timeout(RESTORE_MS) })
    .then(() => {
      session.claimedMode = pinnedMode;
      if (isAgain) throw new Error("it does so again and again");
      return showUpdate(session, { sessionUpdate: "current_mode_update", currentModeId: pinnedMode });
    })
    .catch((error: unknown) => {
      onFault(`${reason}; it was set back: ${errorMessage(error)}`);
      return endTurn(session, SET_MODE, { ...decided, reason });
    });
  turn?.awaits(restored);
  restored.catch((error: unknown) => onFault(`${reason}: ${String(error)}`));
  return withMeta(update, ungatedMeta(decided));
}

/** The name of a child session that an agent began by itself, in rules and records. */
const CHILD = "session/subagent";
/** How many child sessions of one session are known. */
const MOST_CHILDREN = 1_000;

/**
 * Records a child session that an agent announces. Reins did not start it and refuses its requests, so it is decided after
 * the fact, like each call in it; a block ends the turn.
 */
export async function noteChild(session: GovernedSession, update: JsonObject): Promise<JsonObject> {
  const { sessionId, title } = readUpdate("subagent_update", update);
  const { children } = session;
  if (!session.context.profile.isObserved || sessionId === undefined) return update;
  if (children.has(sessionId) || children.size >= MOST_CHILDREN) return update;
  children.add(sessionId);
  const { sessionUpdate: _, sessionId: session_id, _meta, ...announced } = update;
  const rawInput = { session_id, ...announced };
  const claims = title === undefined ? {} : { title };
  const call = { id: sessionId, reported: { name: CHILD, rawInput, ...claims } };
  const payload = { tool_name: CHILD, arguments: rawInput, ...claims };
  const point = {
    kind: "after_the_fact",
    payload,
    tools: "acp",
    seen: { call, outcome: "unknown" },
  } as const;
  const decided = await placed((await enforce(session, point)).verdict);
  if (decided.verdict === "blocked") await endTurn(session, CHILD, decided);
  return withMeta(update, ungatedMeta(decided));
}
