import { isDeepStrictEqual } from "node:util";
import { CODE, isObject, type JsonObject, RpcError } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { fill } from "@reins/kit";
import {
  isHttpServer,
  type McpCall,
  type McpDecision,
  McpError,
  type McpGate,
  type McpServer,
  type McpTool,
  readServer,
} from "@reins/mcp";
import { type Decided, lifecycleDraft, resultDraft, toolsOfAgent } from "@reins/supervisor";
import { recordedSubject, subjectIn } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { complete, recordIn } from "../control/outcome.ts";
import { placed, verdictMeta } from "../control/verdict.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession, McpVerdict } from "./governed-session.ts";
import { reachesAll } from "./session-folders.ts";
import { isEmpty, type ToolCall } from "./tool-calls.ts";
import { namesOf } from "./tool-name.ts";
import { mayWork } from "./unprompted.ts";
import { showUpdate } from "./updates.ts";

/**
 * Puts the harness before each MCP server, after a verdict on starting it. One that may not be started is left out, and
 * so are all for an agent that takes none.
 */
export async function wrapServers(
  session: GovernedSession,
  declared: readonly unknown[],
  signal: AbortSignal,
): Promise<{
  readonly wrapped: readonly unknown[];
  readonly refused: readonly { server: string; reason: string }[];
}> {
  const wrapped: unknown[] = [];
  const refused: { server: string; reason: string }[] = [];
  const names = new Set<string>();
  for (const server of readServers(declared)) {
    const { name } = server;
    if (names.has(name)) {
      // Rules could not tell their tools apart.
      refused.push({ server: name, reason: "another MCP server of the session has that name" });
      continue;
    }
    names.add(name);
    const own = ownToolNamedLike(session, name);
    if (own !== undefined) {
      // Its calls could not be distinguished from those of the agent's own tool.
      refused.push({ server: name, reason: `a tool of it would have the name of the agent's own "${own}"` });
      continue;
    }
    if (session.context.entry.quirks?.mcp.length === 0) {
      refused.push({ server: name, reason: `${session.context.entry.name} takes no MCP servers` });
      continue;
    }
    if (!isHttpServer(server) && isKeptIn(session.context)) {
      refused.push({ server: name, reason: "it would run outside of the sandbox that the agent is kept in" });
      continue;
    }
    const point = { kind: "mcp_start", tool: "mcp/start", arguments: argumentsOf(server) } as const;
    const enforced = await enforce(session, point, { signal });
    if (enforced.kind !== "allowed" || !session.context.servers) {
      const { reason } = enforced.verdict;
      refused.push({
        server: server.name,
        reason: session.context.servers ? reason : "MCP servers are not served here",
      });
      continue;
    }
    const transport = session.context.entry.quirks?.mcp.includes("stdio") === false ? "http" : "stdio";
    const gate = mcpGate(session);
    const { server: given, close } = await session.context.servers.wrap(
      server,
      gate,
      transport,
      session.record,
    );
    session.closing.push(close);
    wrapped.push(given);
  }
  return { wrapped, refused };
}

/**
 * Whether the operating system keeps a user's work in their folders. A program that Reins starts for them is not kept
 * there, and they would answer the question about it themselves.
 */
function isKeptIn({ enforcement, enforcementOf, principal }: GovernorContext): boolean {
  const isConfined = enforcement === "confined" || enforcementOf?.("run_command") === "confined";
  return isConfined && !reachesAll(principal);
}

function readServers(declared: readonly unknown[]): readonly McpServer[] {
  try {
    return declared.map(readServer);
  } catch (error) {
    throw error instanceof McpError ? new RpcError(CODE.invalidParams, error.message) : error;
  }
}

/** Ends the MCP servers of a session. */
export async function endServers(session: GovernedSession): Promise<void> {
  await Promise.allSettled(session.closing.splice(0).map((close) => close()));
}

/** What is decided about the start of a server. Of its variables and headers the names: the values may be secrets. */
function argumentsOf(server: McpServer): JsonObject {
  const { name } = server;
  const isHttp = isHttpServer(server);
  const given = isHttp ? { url: server.url } : { command: [server.command, ...server.args] };
  const names = (isHttp ? server.headers : server.env).map(({ name: one }) => one);
  return { name, ...given, ...(names.length > 0 && { [isHttp ? "headers" : "variables"]: names }) };
}

/** The name of an MCP tool in rules and records: server and tool. */
function mcpToolName(server: string, tool: string): string {
  return `mcp:${server}/${tool}`;
}

/** The name of a message of MCP: the tool it calls, or its method and who sent it. */
function nameOf({ method, from, server, tool }: McpCall): string {
  if (method === "tools/call" && from === "agent") return mcpToolName(server, tool);
  return from === "agent" ? `mcp/${method}` : `mcp-server/${method}`;
}

/**
 * What is decided about a message. Of one that calls no tool also its server, the files that it names by address, and
 * its other addresses.
 */
function decidedArguments(call: McpCall): unknown {
  if (call.method === "tools/call" && call.from === "agent") return call.arguments ?? {};
  const { paths, urls } = addressesIn(call.arguments, call.method === "subscriptions/listen");
  return {
    ...(isObject(call.arguments) ? call.arguments : { params: call.arguments }),
    server: call.server,
    ...(paths.length > 0 && { paths }),
    ...(urls.length > 0 && { urls }),
  };
}

/** The files and other addresses in some arguments. Where only addresses are written as text, every text is one. */
function addressesIn(
  given: unknown,
  isEveryText: boolean,
): { readonly paths: string[]; readonly urls: string[] } {
  const paths: string[] = [];
  const urls: string[] = [];
  const pending: unknown[] = [given];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === "object" && next !== null) pending.push(...Object.values(next));
    else if (typeof next === "string") {
      const path = pathOf(next);
      if (path !== undefined) paths.push(path);
      else if (isEveryText || URL.canParse(next)) urls.push(next);
    }
  }
  return { paths, urls };
}

/** The file that an address names, however it is spelled. */
function pathOf(text: string): string | undefined {
  if (!/^\s*file:/i.test(text)) return undefined;
  try {
    return decodeURIComponent(new URL(text).pathname);
  } catch {
    return text.trim().replace(/^file:\/*/i, "/");
  }
}

/** Decides about the MCP calls of a session. Reins performs them. */
export function mcpGate(session: GovernedSession): McpGate {
  const entries = new Map<string, string | undefined>();
  return {
    mayUse({ server, name }) {
      for (const seen of namesInAgent(session.context.entry, server, name)) session.mcpTools.add(seen);
      const subject = subjectIn(session, "performed");
      return session.context.harness.supervisor.mayUse(mcpToolName(server, name), subject);
    },
    reasonAgainst: ({ server, name }) =>
      session.context.harness.supervisor.outlook(mcpToolName(server, name), subjectIn(session, "performed"))
        ?.reason,
    decide: (call, signal) => decideCall(session, call, signal, entries),
    async report(call, outcome) {
      const entry = entries.get(call.id);
      entries.delete(call.id);
      const completion = {
        tool: nameOf(call),
        entry,
        outcome: outcome.kind,
        enforcement: "performed",
      } as const;
      await complete(session, completion);
    },
    refused: (call, reason) => noteRefused(session, call, reason),
    changed: ({ before, after }) => noteChanged(session, before, after),
  };
}

/** What the agent calls an MCP tool when it speaks of it. */
function namesInAgent({ wordings }: AgentEntry, server: string, tool: string): string[] {
  // One that names no tool in particular may carry any other call too.
  const telling = (wordings.mcp_tool ?? []).filter((wording) => /\$\{tool\}/.test(wording.tool));
  const worded = telling.flatMap((wording) => {
    const name = fill(wording.tool, { server, tool });
    if (wording.namespace === undefined) return [name];
    const namespace = fill(wording.namespace, { server, tool });
    return [`${namespace}__${name}`, `${namespace}.${name}`];
  });
  return [...worded, `mcp.${server}.${tool}`];
}

/**
 * Whether a message shows that the agent works: it calls a tool, reads or has something done. What it lists or
 * subscribes to it also asks for when it starts.
 */
function isWork({ method, from }: McpCall): boolean {
  return (
    from === "agent" && !/^notifications\/|^subscriptions\/|\/(list|(un)?subscribe|setLevel)$/.test(method)
  );
}

/** A tool of the agent itself that has a name which the agent may give to a tool of an MCP server. */
function ownToolNamedLike({ context, workspace }: GovernedSession, server: string): string | undefined {
  const [any, own] = ["\0", toolsOfAgent(workspace.tools ?? context.entry.id)];
  for (const name of namesInAgent(context.entry, server, any)) {
    const [before = "", after = ""] = name.split(any);
    const found = own.find(
      (tool) => tool.length > before.length + after.length && tool.startsWith(before) && tool.endsWith(after),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

async function decideCall(
  session: GovernedSession,
  call: McpCall,
  signal: AbortSignal,
  entries: Map<string, string | undefined>,
): Promise<McpDecision> {
  const tool = nameOf(call);
  if (isWork(call) && !(await mayWork(session, tool))) {
    const reason = "the agent was not prompted";
    noteRefused(session, call, reason);
    return { allowed: false, reason };
  }
  const args = decidedArguments(call);
  const waiting = session.within(signal);
  const shownCall = { id: call.id, reported: { title: tool, rawInput: args } };
  const point = { kind: "mcp_call", tool, arguments: args, call: shownCall } as const;
  const enforced = await enforce(session, point, { signal: waiting });
  if (call.method === "tools/call" && call.from === "agent") {
    const shown = showOnCard(session, call, enforced.verdict).catch((error: unknown) =>
      session.context.onFault(`a verdict could not be shown: ${String(error)}`),
    );
    session.turn?.awaits(shown);
  }
  if (enforced.kind === "refused") return { allowed: false, reason: enforced.reason };
  entries.set(call.id, enforced.verdict.entry);
  return {
    allowed: true,
    arguments: enforced.kind === "modified" ? enforced.arguments : call.arguments,
  };
}

/** How many verdicts wait for the card of their call. */
const MOST_VERDICTS = 200;

/**
 * Shows a verdict on the card of its call. An agent may tell of the call before or after it makes it; a card has the verdict
 * only if it names the tool and the arguments that were decided, and no verdict is on two cards.
 */
async function showOnCard(
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

function keepVerdict({ mcpVerdicts }: GovernedSession, verdict: McpVerdict): void {
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

/** Whether a card may be that of a decided call: some agents never tell the arguments. */
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

/** A call that was refused without being decided is on the record too. */
function noteRefused(session: GovernedSession, call: McpCall, reason: string): void {
  const subject = recordedSubject(session, "performed");
  const tool = nameOf(call);
  const draft = resultDraft(subject, { tool, outcome: "refused" }, undefined);
  const payload = { ...draft.payload, enforcement: "performed", reason };
  recordIn(session, [{ ...draft, tags: ["refused"], payload }]);
  if (call.method !== "tools/call" || call.from !== "agent") return;
  const names = namesInAgent(session.context.entry, call.server, call.tool);
  keepVerdict(session, { names, arguments: call.arguments ?? {}, meta: undefined });
}

/** A server that describes a tool differently than before is shown and recorded: the description is what a model obeys. */
async function noteChanged(session: GovernedSession, before: McpTool, after: McpTool): Promise<void> {
  const subject = recordedSubject(session, "performed");
  const tool = mcpToolName(after.server, after.name);
  const draft = lifecycleDraft(subject, "tool_changed");
  const payload = {
    ...draft.payload,
    tool,
    before: before.hash ?? null,
    after: after.hash ?? null,
  };
  recordIn(session, [{ ...draft, target: tool, payload }]);
  const text = `The MCP tool ${tool} is described differently than before.`;
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  await showUpdate(session, update);
}
