import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { fill } from "@reins/kit";
import type { McpCall } from "@reins/mcp";
import type { Decided } from "@reins/supervisor";
import { confirmRights } from "../control/control-point.ts";
import { type Enforced, enforce } from "../control/enforce.ts";
import { placed, verdictMeta } from "../control/outcome.ts";
import { hostToolName } from "./bridge-requests.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession, Turn } from "./governed-session.ts";
import type { ToolCall } from "./tool-calls.ts";
import { isEmpty, namesOf } from "./tool-name.ts";
import { showUpdate } from "./updates.ts";

/** A tool of an MCP server. */
export interface McpToolId {
  readonly server: string;
  readonly tool: string;
}

/** A call of an MCP tool that was allowed when its agent asked, for the gateway to perform once. */
export interface McpPermit extends McpToolId {
  /** The call as the agent reports it. */
  readonly card: string;
  readonly arguments: unknown;
  readonly enforced: Exclude<Enforced, { kind: "refused" }>;
  /** The turn in which it was allowed, with which it ends. */
  readonly turn: Turn | undefined;
}

/** A verdict of the gateway on a call of an MCP tool. */
export interface McpVerdict {
  /** What the agent may call the tool. */
  readonly names: readonly string[];
  readonly arguments: unknown;
  /** What clients see of it, once it is in the ledger; nothing of a call that was refused before it was decided. */
  readonly meta: Promise<JsonObject> | undefined;
}

/** The MCP server by which an agent gets the tools that the session's client lends; no other has that name. */
export const LENT_SERVER = "session_host";

/** The name of an MCP tool in rules and records: server and tool. One that the session's client lends is a host's tool. */
export function mcpToolName(server: string, tool: string): string {
  return server === LENT_SERVER ? hostToolName(tool) : `mcp:${server}/${tool}`;
}

/** What the agent calls an MCP tool when it speaks of it. */
export function namesInAgent({ wordings }: AgentEntry, server: string, tool: string): string[] {
  // One that names no tool in particular may carry any other call too.
  const specific = (wordings.mcp_tool ?? []).filter((wording) => /\$\{tool\}/.test(wording.tool));
  const worded = specific.flatMap((wording) => {
    const name = fill(wording.tool, { server, tool });
    if (wording.namespace === undefined) return [name];
    const namespace = fill(wording.namespace, { server, tool });
    return [`${namespace}__${name}`, `${namespace}.${name}`];
  });
  return [...worded, `mcp.${server}.${tool}`];
}

/** Notes a tool of an MCP server by the names that the agent may give it. */
export function noteTool({ mcpTools, context }: GovernedSession, { server, tool }: McpToolId): void {
  for (const name of namesInAgent(context.entry, server, tool)) {
    const known = mcpTools.get(name) ?? [];
    if (!known.some((one) => one.server === server && one.tool === tool))
      mcpTools.set(name, [...known, { server, tool }]);
  }
}

/** The MCP tool that a call names; nothing where that could be the name of two. */
export function mcpToolOf(session: GovernedSession, call: ToolCall): McpToolId | undefined {
  const found = namesOf(call, session.context.entry).flatMap((name) => session.mcpTools.get(name) ?? []);
  const [first, ...others] = found;
  return others.every((one) => isDeepStrictEqual(one, first)) ? first : undefined;
}

/** Decides about a call of an MCP tool when its agent asks; the gateway performs it by this verdict. */
export function enforceMcpCall(
  session: GovernedSession,
  { id, reported }: ToolCall,
  { server, tool }: McpToolId,
  signal: AbortSignal,
): Promise<Enforced> {
  const name = mcpToolName(server, tool);
  const args = givenTo(reported.rawInput);
  const call = { id, reported: { ...reported, title: name, rawInput: args } };
  return enforce(session, { kind: "mcp_call", tool: name, arguments: args, call }, { signal });
}

/** Lets the gateway perform an allowed call, once and with the arguments that were decided. */
export function permitMcpCall(
  { mcpPermits, toolCalls }: GovernedSession,
  { id, reported }: ToolCall,
  { server, tool, enforced, turn }: Omit<McpPermit, "card" | "arguments">,
): void {
  const { entry } = enforced.verdict;
  toolCalls.permit(id, { kind: "elsewhere", entry, tool: mcpToolName(server, tool) });
  mcpPermits.push({ card: id, server, tool, arguments: givenTo(reported.rawInput), enforced, turn });
  if (mcpPermits.length > MOST_VERDICTS) mcpPermits.shift();
}

/** Uses what was decided about a call when its agent asked, unless the agent has lost its rights since. */
export async function takePermit(
  session: GovernedSession,
  { server, tool, arguments: given = {} }: McpCall,
): Promise<Exclude<Enforced, { kind: "refused" }> | undefined> {
  const { mcpPermits, mcpCards, turn, context } = session;
  const index = mcpPermits.findIndex(
    (one) =>
      one.server === server &&
      one.tool === tool &&
      one.turn === turn &&
      isDeepStrictEqual(one.arguments, given),
  );
  const [permit] = index < 0 || turn?.isOver ? [] : mcpPermits.splice(index, 1);
  if (!permit) return undefined;
  const hasRights = await confirmRights(session).then(
    () => true,
    () => false,
  );
  if (!hasRights) return undefined;
  const names = namesInAgent(context.entry, server, tool);
  mcpCards.set(permit.card, { names, arguments: given, meta: undefined });
  return permit.enforced;
}

/** Withdraws what was decided about the call of a card; whether the gateway had not used it. */
export function dropPermit({ mcpPermits }: GovernedSession, { id }: ToolCall): boolean {
  const index = mcpPermits.findIndex(({ card }) => card === id);
  if (index >= 0) mcpPermits.splice(index, 1);
  return index >= 0;
}

/** Members beside the arguments of a tool, where an agent reports the call as a whole. */
const ABOUT_CALL: ReadonlySet<string> = new Set(["server", "tool", "name", "arguments", "input"]);

/** The arguments that a card says its tool is given: all that it reports, or the part that holds them. */
function givenTo(rawInput: unknown): unknown {
  if (!isObject(rawInput)) return rawInput ?? {};
  const { arguments: given = rawInput.input } = rawInput;
  return isObject(given) && Object.keys(rawInput).every((name) => ABOUT_CALL.has(name)) ? given : rawInput;
}

/** How many verdicts wait for the card of their call. */
const MOST_VERDICTS = 200;

/**
 * Shows a verdict on the card of its call. An agent may report the call before or after it makes it; a card has the verdict
 * only if it names the tool and the arguments that were decided, and no verdict is on two cards.
 */
export async function showOnCard(
  session: GovernedSession,
  { server, tool, arguments: given }: McpCall,
  decided: Decided,
): Promise<void> {
  // The card is found at once: its call may have ended before the verdict has its place in the ledger.
  const meta = placed(decided).then(verdictMeta);
  const verdict = { names: namesInAgent(session.context.entry, server, tool), arguments: given ?? {}, meta };
  const { toolCalls, mcpCards } = session;
  const card = toolCalls.open.find((one) => !mcpCards.has(one.id) && isCardOf(session.context, one, verdict));
  if (card) {
    mcpCards.set(card.id, verdict);
    const update = { sessionUpdate: "tool_call_update", toolCallId: card.id, _meta: await meta };
    await showUpdate(session, update);
    return;
  }
  meta.catch(() => undefined);
  keepVerdict(session, verdict);
}

export function keepVerdict({ mcpVerdicts }: GovernedSession, verdict: McpVerdict): void {
  mcpVerdicts.push(verdict);
  if (mcpVerdicts.length > MOST_VERDICTS) mcpVerdicts.shift();
}

/** Whether a call has the name of an MCP tool of the session, which the gateway decides and performs. */
export function isMcpCall(session: GovernedSession, call: ToolCall): boolean {
  return namesOf(call, session.context.entry).some((name) => session.mcpTools.has(name));
}

/**
 * Finds what the gateway decided in this turn about the call of a card that ends; nothing where it decided about no such
 * call, whatever the agent says. What is still to be shown on the card comes with it.
 */
export function takeVerdict(
  session: GovernedSession,
  call: ToolCall,
): { readonly meta?: Promise<JsonObject> | undefined } | undefined {
  const { mcpCards, mcpVerdicts, context } = session;
  const shown = mcpCards.get(call.id);
  mcpCards.delete(call.id);
  if (shown && isSaidOf(context, call, shown)) return {};
  // It was the verdict of another card, which said then what this one does not say now.
  if (shown) keepVerdict(session, shown);
  const exact = mcpVerdicts.findIndex((verdict) => isCardOf(context, call, verdict));
  if (exact >= 0) return { meta: mcpVerdicts.splice(exact, 1)[0]?.meta };
  const named = mcpVerdicts.findIndex((verdict) => isSaidOf(context, call, verdict));
  if (named < 0) return undefined;
  mcpVerdicts.splice(named, 1);
  return {};
}

/** Whether a card may be that of a decided call: some agents never report the arguments. */
function isSaidOf(context: GovernorContext, call: ToolCall, verdict: McpVerdict): boolean {
  if (isCardOf(context, call, verdict)) return true;
  const isNamed = namesOf(call, context.entry).some((name) => verdict.names.includes(name));
  return isNamed && isEmpty(call.reported.rawInput);
}

function isCardOf({ entry }: GovernorContext, call: ToolCall, verdict: McpVerdict): boolean {
  if (!namesOf(call, entry).some((name) => verdict.names.includes(name))) return false;
  const { rawInput } = call.reported;
  const { arguments: given = rawInput, input = given } = isObject(rawInput) ? rawInput : {};
  return [rawInput ?? {}, given ?? {}, input ?? {}].some((one) => isDeepStrictEqual(one, verdict.arguments));
}
