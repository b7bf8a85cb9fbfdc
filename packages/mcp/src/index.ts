export type { McpCall, McpDecision, McpGate, McpOutcome, McpTool } from "./gate.ts";
export { McpGateway } from "./gateway.ts";
export { McpError } from "./mcp-error.ts";
export { isHttpServer, type McpServer, readServer } from "./server-entry.ts";
