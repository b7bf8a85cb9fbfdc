import { stat } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "@reins/acp";
import type { Decided } from "@reins/supervisor";
import { enforce, factsOf } from "../control/enforce.ts";
import { placed } from "../control/outcome.ts";
import { type Claim, claimsBeyond, MOST_CLAIMS, payloadOfClaim } from "./claims.ts";
import type { GovernedSession } from "./governed-session.ts";
import { payloadOf } from "./permission.ts";
import {
  compareArguments,
  type GivenPermit,
  isFinal,
  MOST_ACTS,
  type ReportedAct,
  type ToolCall,
} from "./tool-calls.ts";
import { type Act, actOf, isEmpty, toolNameOf } from "./tool-name.ts";

/** File times lag behind the clock by as much as this. */
const CLOCK_LAG_MS = 20;

/** Enforces what an agent did without asking: decided after the fact, at the level that says so, and recorded. */
export async function enforceSeen(
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
 * Decides after the fact about everything that an agent reported of a call, whatever it says of it later, and that no
 * verdict covers. `isRecorded` says that the call as it is reported now was recorded already.
 */
export async function decideReported(
  session: GovernedSession,
  call: ToolCall,
  { isRecorded = false }: { readonly isRecorded?: boolean } = {},
): Promise<readonly Decided[]> {
  const { toolCalls, context } = session;
  const { permit } = toolCalls.get(call.id) ?? call;
  const compared = { ...call, permit };
  const acts = toolCalls.compare(call.id);
  const claims = toolCalls.weigh(call.id);
  if (!context.profile.isObserved) return [];
  return [
    ...(await decideActs(session, compared, acts, isRecorded)),
    ...(await decideClaims(session, compared, claims)),
  ];
}

async function decideActs(
  session: GovernedSession,
  call: ToolCall,
  acts: readonly ReportedAct[],
  isRecorded: boolean,
): Promise<readonly Decided[]> {
  if (call.acts.length > MOST_ACTS && acts.length > 0) return [await decideClaim(session, call, MORE)];
  const { entry } = session.context;
  const last = actOf(call, entry);
  const done: Act[] = isRecorded ? [{ ...last, names: [toolNameOf(call, entry).name] }] : [];
  const verdicts: Decided[] = [];
  for (const act of acts) {
    const named = nameOf(session, call, act);
    const seen = named === undefined ? act : { ...act, names: [named] };
    if (done.some((one) => isSameAct(one, seen)) || (await isActCovered(session, call, act))) continue;
    done.push(seen);
    const reported = isSameAct(last, act) ? call.reported : callOf(call, act).reported;
    verdicts.push(await enforceSeen(session, { ...call, named, reported }, outcomeOf(call)));
  }
  return verdicts;
}

/** The name of the tool of an act, unless that is the name of an MCP tool, which the agent did not call. */
function nameOf({ mcpTools }: GovernedSession, { named }: ToolCall, act: Act): string | undefined {
  const name = act.names.find((one) => !mcpTools.has(one));
  return act.isNamed ? (name ?? named) : undefined;
}

/** A call that does only an act. */
function callOf(call: ToolCall, { kind, names, isNamed, arguments: rawInput, paths }: Act): ToolCall {
  const { title, status } = call.reported;
  const locations = paths.map((path) => ({ path }));
  const reported = { kind, rawInput, title, status, locations };
  return { ...call, named: isNamed ? names[0] : undefined, reported };
}

function outcomeOf(call: ToolCall): string {
  return isFinal(call) ? String(call.reported.status) : "unknown";
}

function isSameAct(one: Act, other: Act): boolean {
  return one.names[0] === other.names[0] && isDeepStrictEqual(one.arguments, other.arguments);
}

/** Whether a verdict covers an act, or an answer explains why it is reported though it was not done. */
async function isActCovered(session: GovernedSession, call: ToolCall, act: ReportedAct): Promise<boolean> {
  const { permit, given } = call;
  if (act.terminals?.every((terminal) => session.terminals.has(terminal))) return true;
  if (permit.kind === "performed") {
    if (act.names.some((name) => session.mcpTools.has(name))) return true;
    const facts = await factsOf(session, payloadOf(callOf(call, act), session.context.entry), "agent");
    return facts?.effects.length === 0;
  }
  for (const one of given) if (await isCoveredBy(session, act, one)) return true;
  // An agent that was refused says last that the call failed, and may still say before that it runs.
  const isRefusal = permit.kind === "refused" && call.reported.status === "failed" && !act.hasRun;
  return (act.isBeforeAnswer || isRefusal) && permit.kind !== "none" && isAskedFor(session, call, act);
}

/** Whether permission was asked for an act: some agents report a call as running before that, and in other words. */
async function isAskedFor(session: GovernedSession, call: ToolCall, act: ReportedAct): Promise<boolean> {
  const { permit, asked } = call;
  // Files alone are compared as claims.
  const tellsNothing = isEmpty(act.arguments) && (!act.isNamed || permit.kind === "refused");
  if (act.isBeforeAnswer && tellsNothing) return true;
  for (const one of asked) {
    if (!namesNoOtherFile(session, act, one)) continue;
    if (isSameAct(one, act)) return true;
    // What was refused without arguments was refused with any.
    if (permit.kind === "refused" && isEmpty(one.arguments) && one.names[0] === act.names[0]) return true;
    for (const name of act.names) if (await doesNoMore(session, call, { act, name, asked: one })) return true;
  }
  return false;
}

/** Whether every file that an act names was named when permission was asked, or is a folder of the workspace. */
function namesNoOtherFile({ workspace: { cwd, roots } }: GovernedSession, act: Act, asked: Act): boolean {
  const known = new Set([...allTexts(asked.arguments), ...asked.paths, cwd, ...roots]);
  const named = [...allTexts(act.arguments).filter((text) => isAbsolute(text)), ...act.paths];
  return named.every((path) => known.has(path));
}

/** Whether all that an act does by that name is among what was asked about. What does nothing that can be seen is not. */
async function doesNoMore(
  session: GovernedSession,
  call: ToolCall,
  { act, name, asked }: { readonly act: Act; readonly name: string; readonly asked: Act },
): Promise<boolean> {
  const done = act.names[0] === name ? callOf(call, act) : { ...callOf(call, act), named: name };
  const [one, other] = await Promise.all(
    [done, callOf(call, asked)].map((each) =>
      factsOf(session, payloadOf(each, session.context.entry), "agent"),
    ),
  );
  if (!one || !other || one.effects.length === 0 || (one.opaque && !other.opaque)) return false;
  return one.effects.every((effect) => other.effects.some((known) => isDeepStrictEqual(effect, known)));
}

/**
 * Whether a permit was given for an act. What is only added, such as the folder that a command runs in anyway, is nothing
 * else as long as it does the same, and so is another name for the tool.
 */
async function isCoveredBy(session: GovernedSession, act: Act, { decided }: GivenPermit): Promise<boolean> {
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
 * Decides after the fact about what an agent says that a call did beyond what was decided: another file than was allowed,
 * a command behind a call that runs none. What a call that failed or was refused says counts where it can be seen on the
 * disk.
 */
async function decideClaims(
  session: GovernedSession,
  call: ToolCall,
  said: readonly Claim[],
): Promise<readonly Decided[]> {
  if (said.length === 0) return [];
  const { permit, reported, since, acts } = call;
  const isPerformed = permit.kind === "performed";
  const isDenied = permit.kind === "refused" && !acts.some(({ isAfterRefusal }) => isAfterRefusal);
  const isUndone = isDenied || (reported.status === "failed" && permit.kind !== "given");
  const counted: Claim[] = [];
  for (const claim of said) {
    // Of what an MCP server read, the server says where it lies.
    if (isPerformed && claim.kind === "read") continue;
    if (isUndone && (claim.kind !== "write" || !(await hasChanged(claim.path, since)))) continue;
    counted.push(claim);
  }
  const decided = permit.kind === "given" ? permit.decided?.payload : payloadOf(call, session.context.entry);
  const beyond = await claimsBeyond(session, counted, isPerformed ? undefined : decided);
  if (call.claims.length > MOST_CLAIMS) return [await decideClaim(session, call, MORE)];
  const verdicts: Decided[] = [];
  for (const claim of beyond) verdicts.push(await decideClaim(session, call, claim));
  return verdicts;
}

/** Stands for claims and acts of a call beyond the limit. */
const MORE: Claim = { kind: "exec", terminal: "more than can be looked at" };

async function decideClaim(session: GovernedSession, call: ToolCall, claim: Claim): Promise<Decided> {
  const { tool_name: name, arguments: rawInput } = payloadOfClaim(claim);
  const { status, title } = call.reported;
  const done = { ...call, named: name, reported: { name, rawInput, title, status } };
  return enforceSeen(session, done, outcomeOf(call), "acp");
}

/** Whether a file, or what is left of the way to it, was changed after a time. */
export async function hasChanged(path: string, since: number): Promise<boolean> {
  try {
    return (await stat(path)).ctimeMs >= since - CLOCK_LAG_MS;
  } catch {
    const parent = dirname(path);
    return parent !== path && hasChanged(parent, since);
  }
}

/** Every text in a value. */
export function allTexts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(allTexts);
  return isObject(value) ? Object.values(value).flatMap(allTexts) : [];
}
