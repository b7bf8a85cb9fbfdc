import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { enforce } from "../control/enforce.ts";
import { McpError } from "../mcp/mcp-error.ts";
import { isHttpServer, type McpServer, readServer } from "../mcp/server-entry.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { mcpGate } from "./mcp-gate.ts";
import { reachesAll } from "./session-folders.ts";

/**
 * Puts the harness before each MCP server, after a verdict on starting it. One that may not be started is left out, and
 * so are all for an agent that takes none.
 */
export async function wrapServers(
  context: GovernorContext,
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
      // Nobody could tell whose tools the rules speak of.
      refused.push({ server: name, reason: "another MCP server of the session has that name" });
      continue;
    }
    names.add(name);
    if (context.entry.quirks?.mcp.length === 0) {
      refused.push({ server: name, reason: `${context.entry.name} takes no MCP servers` });
      continue;
    }
    if (!isHttpServer(server) && isKeptIn(context)) {
      refused.push({ server: name, reason: "it would run outside of the sandbox that the agent is kept in" });
      continue;
    }
    const point = { kind: "mcp_start", arguments: argumentsOf(server) } as const;
    const enforced = await enforce(context, session, point, { signal });
    if (enforced.kind !== "allowed" || !context.servers) {
      const { reason } = enforced.verdict;
      refused.push({
        server: server.name,
        reason: context.servers ? reason : "MCP servers are not served here",
      });
      continue;
    }
    const transport = context.entry.quirks?.mcp.includes("stdio") === false ? "http" : "stdio";
    const gate = mcpGate(context, session);
    const { server: given, close } = await context.servers.wrap(server, gate, transport, session.record);
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
