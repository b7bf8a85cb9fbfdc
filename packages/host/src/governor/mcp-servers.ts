import { CODE, isObject, type JsonObject, RpcError } from "@reins/acp";
import {
  isHttpServer,
  type McpCall,
  type McpDecision,
  McpError,
  type McpGate,
  type McpServer,
  readServer,
  type WrappedServer,
} from "@reins/mcp";
import { resultDraft, toolsOfAgent } from "@reins/supervisor";
import { lookUpSubject, recordedSubject } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { complete, perform, recordIn } from "../control/outcome.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import {
  keepVerdict,
  LENT_SERVER,
  mcpToolName,
  namesInAgent,
  noteTool,
  showOnCard,
  takePermit,
} from "./mcp-cards.ts";
import { reachesAll } from "./session-folders.ts";
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
      // Rules could not distinguish their tools.
      refused.push({ server: name, reason: "another MCP server of the session has that name" });
      continue;
    }
    names.add(name);
    if (name === LENT_SERVER) {
      refused.push({ server: name, reason: "that name is for the tools of the session's client" });
      continue;
    }
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
    const point = { kind: "mcp_start", tool: "mcp/start", arguments: startArguments(server) } as const;
    const enforced = await enforce(session, point, { signal });
    const { servers } = session.context;
    if (enforced.kind !== "allowed" || !servers) {
      const { reason } = enforced.verdict;
      refused.push({ server: name, reason: servers ? reason : "MCP servers are not served here" });
      continue;
    }
    const transport = session.context.entry.quirks?.mcp.includes("stdio") === false ? "http" : "stdio";
    const started = { tool: point.tool, entry: enforced.verdict.entry };
    const given = await perform(session, started, () => wrapPinned(session, servers, server, transport));
    wrapped.push(given);
  }
  return { wrapped, refused };
}

/** Puts the gateway before a server, its tools pinned; gives what the agent gets in its place. */
async function wrapPinned(
  session: GovernedSession,
  servers: NonNullable<GovernorContext["servers"]>,
  server: McpServer,
  transport: "stdio" | "http",
): Promise<McpServer> {
  const ending = new AbortController();
  let wrapped: WrappedServer | undefined;
  const pins = session.context.pins?.gateFor(session, server, {
    nameOf: (tool) => mcpToolName(server.name, tool),
    onChanged: (_, text) => void showChange(session, text),
    onAccepted: () => wrapped?.announceTools(),
    signal: ending.signal,
  });
  wrapped = await servers.wrap(server, { ...mcpGate(session), ...pins }, transport, session.record);
  const { server: given, close, isConnected } = wrapped;
  session.connected.push(isConnected);
  session.closing.push(async () => {
    ending.abort(new Error("the session is over"));
    await close();
  });
  return given;
}

/** Shows clients that a tool changed. */
async function showChange(session: GovernedSession, text: string): Promise<void> {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  await showUpdate(session, update);
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
export function startArguments(server: McpServer): JsonObject {
  const { name } = server;
  const isHttp = isHttpServer(server);
  const given = isHttp ? { url: server.url } : { command: [server.command, ...server.args] };
  const names = (isHttp ? server.headers : server.env).map(({ name: one }) => one);
  return { name, ...given, ...(names.length > 0 && { [isHttp ? "headers" : "variables"]: names }) };
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
  const { supervisor } = session.context.harness;
  const entries = new Map<string, string | undefined>();
  return {
    mayUse({ server, name }) {
      noteTool(session, { server, tool: name });
      const { subject, forbidden } = lookUpSubject(session, "performed");
      return forbidden === undefined && supervisor.mayUse(mcpToolName(server, name), subject);
    },
    reasonAgainst({ server, name }) {
      const { subject, forbidden } = lookUpSubject(session, "performed");
      return forbidden ?? supervisor.outlook(mcpToolName(server, name), subject)?.reason;
    },
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
  };
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
  const isToolCall = call.method === "tools/call" && call.from === "agent";
  const args = decidedArguments(call);
  const permitted = isToolCall ? await takePermit(session, call) : undefined;
  const shownCall = { id: call.id, reported: { title: tool, rawInput: args } };
  const point = { kind: "mcp_call", tool, arguments: args, call: shownCall } as const;
  const enforced = permitted ?? (await enforce(session, point, { signal: session.within(signal) }));
  if (isToolCall && !permitted) {
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
