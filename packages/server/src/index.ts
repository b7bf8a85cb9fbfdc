export { Access, type AccessOptions, LOCAL } from "./access/access.ts";
export type { Caller } from "./access/authenticator.ts";
export { AccessError } from "./access/secrets.ts";
export { type AgentDialectsOptions, type AgentLimits, agentDialects } from "./acp/agent-routes.ts";
export { OperatorDesk, type OperatorDeskOptions } from "./admin.ts";
export { serverTables } from "./connections/tables.ts";
export {
  Gateway,
  type GatewayOptions,
  type InjectedAnswer,
  type InjectedRequest,
  type ListenOptions,
} from "./gateway/gateway.ts";
export type { Tls } from "./gateway/tls-server.ts";
export { HaakDialect, type HaakDialectOptions } from "./haak/haak-routes.ts";
export { hostDialects } from "./haak/host-routes.ts";
export type { GatewayLimits, Log } from "./limits.ts";
export { Refusal, type RefusalOptions } from "./problems.ts";
export type {
  Answer,
  Dialect,
  GovernedCall,
  Place,
  PlainCall,
  RawHandler,
  UpgradeHandler,
  UpgradeOptions,
} from "./routes/router.ts";
export { EventStream, eventText, positionText, type StreamLimits } from "./streams/event-stream.ts";
export { type AgentShelf, foundCredentials } from "./v1/shown-agent.ts";
