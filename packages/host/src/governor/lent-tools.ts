import { HostTools, hostToolDescription, hostToolText } from "@reins/bridge";
import type { LocalServer } from "@reins/mcp";
import { askHost } from "./bridge-requests.ts";
import type { GovernedSession } from "./governed-session.ts";
import { LENT_SERVER } from "./mcp-cards.ts";
import { mcpGate } from "./mcp-servers.ts";

/**
 * Gives an agent the tools that the session's client lends as one more MCP server; nothing where it takes none, or no client
 * lends any. The native agent asks for them by itself.
 */
export async function wrapLentTools(session: GovernedSession): Promise<unknown> {
  const { servers, entry } = session.context;
  if (!servers?.wrapLocal || !session.lacksLentTools) return undefined;
  const transport = entry.quirks?.mcp.includes("stdio") === false ? "http" : "stdio";
  const { server, close } = await servers.wrapLocal(lentServer(session), mcpGate(session), transport);
  session.closing.push(close);
  return server;
}

/** The tools that the client of a session lends, as an MCP server. The gateway decides each call before it gets here. */
function lentServer(session: GovernedSession): LocalServer {
  const hostTools = new HostTools({
    call: (_, method, params, signal) => askHost(session, { method, params }, signal),
    subscribe: () => () => undefined,
  });
  const { id: sessionId } = session;
  const listeners = new Set<() => void>();
  session.lentToolsChanged = () => {
    for (const listener of listeners) listener();
  };
  return {
    name: LENT_SERVER,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async tools(signal) {
      // A server of the gateway lists its tools when an agent connects: what was cached then may be outdated.
      hostTools.invalidate(sessionId);
      const { tools, warnings } = await hostTools.hostToolList(sessionId, signal);
      for (const warning of warnings)
        session.context.onFault(`the tools of the session's client: ${warning}`);
      return tools.map((tool) => ({
        name: tool.name,
        description: hostToolDescription(tool),
        inputSchema: { type: "object", ...tool.schema },
      }));
    },
    call: async (name, given, signal) =>
      hostToolText(await hostTools.hostToolCall(name, given, { sessionId, signal })),
  };
}
