import type { McpGate } from "../mcp/gate.ts";
import type { McpServer } from "../mcp/server-entry.ts";

/** An MCP server that is reached through the harness. */
export interface Wrapped {
  /** What the agent is given in its place. */
  readonly server: McpServer;
  close(): Promise<void>;
}

/** Puts the harness between an agent and an MCP server. */
export interface ServerWrapper {
  wrap(
    server: McpServer,
    gate: McpGate,
    how: { readonly transport: "stdio" | "http"; readonly cwd: string },
  ): Promise<Wrapped>;
}
