export { McpError } from "./faults.ts";
export type { McpCall, McpDecision, McpGate, McpOutcome, McpTool } from "./gate.ts";
export { McpGateway, type WrappedServer } from "./gateway.ts";
export { type LogInOptions, logInToServer } from "./login/log-in.ts";
export { type LoginStore, loginAddress, loginHeader, StoredLogin } from "./login/stored-login.ts";
export type { LocalServer } from "./server/process-link.ts";
export { isHttpServer, type McpServer, readServer } from "./server-entry.ts";
