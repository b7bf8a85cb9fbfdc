import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, metaOf, readUpdate, toolCallIn } from "@reins/acp";
import { type Decided, resultDraft } from "@reins/supervisor";
import { subjectIn } from "../control/control-point.ts";
import { complete, enforce, factsOf, recordIn, toolCallDraft } from "../control/enforce.ts";
import { placed, verdictMeta } from "../control/verdict.ts";
import { type Claim, claimsBeyond, MOST_CLAIMS, payloadOfClaim } from "./claims.ts";
import type { GovernedSession } from "./governed-session.ts";
import { verdictForCard } from "./mcp-servers.ts";
import { payloadOf } from "./permission.ts";
import { cancelTurn } from "./run-turn.ts";
import {
  type Act,
  compareArguments,
  isEmpty,
  isFinal,
  MOST_ACTS,
  type Permit,
  type ReportedAct,
  type ToolCall,
} from "./tool-calls.ts";
import { actOf, namesOf, toolNameOf } from "./tool-name.ts";
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
  const isCarriedOut = permit.kind === "elsewhere" || isMcp(session, call);
  const isDenied = permit.kind === "refused" && !call.acts.some(({ isAfterRefusal }) => isAfterRefusal);
  const hasFailed = (reported.status === "failed" && permit.kind !== "given") || isDenied;
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
  const done = { ...call, reported: { name, rawInput, title, status } };
  return enforceSeen(session, done, outcomeOf(call), "acp");
}

/**
 * Decides after the fact about each act that an agent reported of a call and that no verdict covers, whatever it says of
 * the call later. `recorded` is the act that was recorded already.
 */
async function decideActs(
  session: GovernedSession,
  call: ToolCall,
  recorded?: Act,
): Promise<readonly Decided[]> {
  const acts = session.toolCalls.judge(call.id);
  if (!session.context.profile.isObserved) return [];
  if (call.acts.length > MOST_ACTS && acts.length > 0) return [await decideClaim(session, call, MORE)];
  const done = recorded ? [recorded] : [];
  const verdicts: Decided[] = [];
  for (const act of acts) {
    if (done.some((one) => isSameAct(one, act)) || (await isActCovered(session, call, act))) continue;
    done.push(act);
    const { title, status } = call.reported;
    const [name] = act.names;
    const reported = { name, kind: act.kind, rawInput: act.arguments, title, status };
    const isLast = isSameAct(actOf(call, session.context.entry), act);
    verdicts.push(await enforceSeen(session, isLast ? call : { ...call, reported }, outcomeOf(call)));
  }
  return verdicts;
}

function outcomeOf(call: ToolCall): string {
  return isFinal(call) ? String(call.reported.status) : "unknown";
}

function isSameAct(one: Act, other: Act): boolean {
  return isDeepStrictEqual([one.names, one.arguments], [other.names, other.arguments]);
}

/** Whether a verdict covers an act. Of a refused call, only what was reported of it before the answer is no act. */
async function isActCovered(session: GovernedSession, call: ToolCall, act: ReportedAct): Promise<boolean> {
  const { permit, given, asked } = call;
  if (act.terminals?.every((terminal) => session.terminals.has(terminal))) return true;
  if (permit.kind === "elsewhere" || isMcp(session, call)) {
    if (act.names.some((name) => session.mcpTools.has(name))) return true;
    const facts = await factsOf(session, payloadOfAct(act), "agent");
    return !facts || facts.effects.length === 0;
  }
  for (const one of given) if (await isCoveredBy(session, act, one)) return true;
  if (permit.kind !== "refused" || act.isAfterRefusal) return false;
  // Some agents report a call as running before they ask.
  return asked.some((one) => isSameAct(one, act)) || isEmpty(act.arguments);
}

function payloadOfAct({ names: [tool_name = "unknown"], arguments: args, kind }: Act) {
  return { tool_name, ...(args !== undefined && { arguments: args }), ...(kind !== undefined && { kind }) };
}

/**
 * Whether a permit was given for an act. What is only added, such as the folder that a command runs in anyway, is nothing
 * else as long as it does the same, and so is another name for the tool.
 */
async function isCoveredBy(
  session: GovernedSession,
  act: Act,
  { decided }: Extract<Permit, { kind: "given" }>,
): Promise<boolean> {
  if (!decided) return true;
  const { payload, reported } = decided;
  if (typeof reported.name === "string" && typeof act.name === "string" && reported.name !== act.name)
    return false;
  const compared = compareArguments(act.arguments, decided.arguments);
  if (compared === "other") return false;
  const isSameTool =
    act.names.includes(payload.tool_name) ||
    (!act.isNamed && (act.kind === undefined || act.kind === payload.kind));
  if (compared === "same" && isSameTool) return true;
  const [tool_name = payload.tool_name] = isSameTool ? [] : act.names;
  const now = { ...payload, tool_name, ...(!isEmpty(act.arguments) && { arguments: act.arguments }) };
  const [before, after] = await Promise.all(
    [payload, now].map(async (one) => {
      const facts = await factsOf(session, one, "agent");
      return facts && [facts.effects, facts.opaque];
    }),
  );
  return before !== undefined && isDeepStrictEqual(before, after);
}

/**
 * Compares everything that an agent reported of calls that it has not ended with what was decided, at the end of a turn or
 * of the session. What was never asked for is decided like what was done: its outcome is unknown. What it only announced
 * before it was cancelled or refused something was not begun.
 */
export async function noteUnended(
  session: GovernedSession,
  { isCancelled }: { readonly isCancelled: boolean },
): Promise<void> {
  const { toolCalls } = session;
  for (const call of toolCalls.open) {
    if (call.permit.kind !== "none" || isMcp(session, call)) {
      await showUngated(session, call, [
        ...(await decideActs(session, call)),
        ...(await decideClaims(session, call)),
      ]);
      continue;
    }
    if (!toolCalls.conclude(call.id)) continue;
    const isOnlyAnnounced = call.reported.status === "pending" && !call.ran;
    if (isOnlyAnnounced && (isCancelled || toolCalls.hasRefused)) recordRefused(session, call);
    else {
      const decided = await enforceSeen(session, call, "unknown");
      const others = await decideActs(session, call, actOf(call, session.context.entry));
      await showUngated(session, call, [decided, ...others, ...(await decideClaims(session, call))]);
    }
  }
}

/** Shows clients that a call was decided after the fact. */
async function showUngated(
  session: GovernedSession,
  { id: toolCallId }: ToolCall,
  verdicts: readonly Decided[],
): Promise<void> {
  const decided = verdicts.find(({ verdict }) => verdict === "blocked") ?? verdicts.at(-1);
  if (!decided || session.isClosing) return;
  const _meta = ungatedMeta(decided);
  await showUpdate(session, { sessionUpdate: "tool_call_update", toolCallId, _meta });
}

/** Whether a call is one of an MCP tool, which Reins performs and decides itself. */
function isMcp(session: GovernedSession, call: ToolCall): boolean {
  const { entry } = session.context;
  return namesOf(call, entry).some((name) => session.mcpTools.has(name));
}

/** Records a call that the agent refused by itself: nothing was done. */
function recordRefused(session: GovernedSession, call: ToolCall): void {
  const tool = toolNameOf(call, session.context.entry).name;
  const subject = subjectIn(session, "observed");
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
    if (effect.kind === "write" && (await hasChanged(effect.path, call.since - CLOCK_LAG_MS)))
      return "a file that it names was changed";
    if (effect.kind === "read" && (await isQuoted(effect.path, call))) return "it gave a file's content";
  }
  const isUnclear = opaque || effects.some((effect) => "path" in effect && effect.place === "unknown");
  return isUnclear && call.ran ? "what it did while it ran is unknown" : undefined;
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
  if (permit.kind === "elsewhere" || isMcp(session, call)) {
    const meta = await verdictForCard(session, call);
    return weighCall(session, call, meta ? withMeta(update, meta) : update);
  }
  if (permit.kind === "given") {
    const { tool, entry } = permit;
    const { enforcement } = session.context;
    await complete(session, { tool, entry, outcome, enforcement });
    return weighCall(session, call, update);
  }
  if (permit.kind === "refused") return weighCall(session, call, update);
  const act = actOf(call, session.context.entry);
  if (outcome === "failed" && (await begunBecause(session, call)) === undefined) {
    recordRefused(session, call);
    return weighCall(session, call, withMeta(update, REFUSED_BY_AGENT), { recorded: act });
  }
  const decided = await enforceSeen(session, call, outcome);
  return weighCall(session, call, update, { recorded: act, verdicts: [decided] });
}

/** Compares what an agent says that a call is and did with what was decided; a block ends the turn. */
export async function weighCall(
  session: GovernedSession,
  call: ToolCall,
  update: JsonObject,
  { recorded, verdicts = [] }: { readonly recorded?: Act; readonly verdicts?: readonly Decided[] } = {},
): Promise<JsonObject> {
  const acts = await decideActs(session, call, recorded);
  const decided = [...verdicts, ...acts, ...(await decideClaims(session, call))];
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
  for (const { id, permit } of session.toolCalls.unfinished) {
    if (permit.kind !== "given" || !session.toolCalls.conclude(id)) continue;
    const { tool, entry } = permit;
    const { enforcement } = session.context;
    await complete(session, { tool, entry, enforcement, outcome: "unknown" });
  }
}

/** An update with what clients see of its verdict. */
function withMeta(update: JsonObject, meta: JsonObject): JsonObject {
  return { ...update, _meta: { ...metaOf(update), ...meta } };
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
