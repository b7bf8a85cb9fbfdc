export { McpError } from "./faults.ts";
export type { McpCall, McpDecision, McpGate, McpOutcome, McpTool } from "./gate.ts";
export { McpGateway, type WrappedServer } from "./gateway.ts";
export type { LocalServer } from "./server/local-link.ts";
export { isHttpServer, type McpServer, readServer } from "./server-entry.ts";
