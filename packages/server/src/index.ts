export { Access, type AccessOptions, LOCAL } from "./access/access.ts";
export { AccessError } from "./access/access-error.ts";
export type { Caller } from "./access/gatekeeper.ts";
export { type AgentDialectsOptions, type AgentLimits, agentDialects } from "./agent-dialects.ts";
export { serverTables } from "./connections/tables.ts";
export type { Answer, GovernedCall, PlainCall } from "./dialect/call.ts";
export type { Dialect, Place, RawHandler, UpgradeHandler, UpgradeOptions } from "./dialect/dialect.ts";
export {
  Gateway,
  type GatewayOptions,
  type InjectedAnswer,
  type InjectedRequest,
  type ListenOptions,
} from "./gateway/gateway.ts";
export type { Tls } from "./gateway/tls-server.ts";
export { HaakDialect, type HaakDialectOptions } from "./haak/haak-dialect.ts";
export { hostDialects } from "./haak/host-dialects.ts";
export type { GatewayLimits } from "./limits.ts";
export type { Log } from "./log.ts";
export { OperatorDesk, type OperatorDeskOptions } from "./operator-desk.ts";
export { Refusal, type RefusalOptions } from "./problems/refusal.ts";
export { EventStream, eventText, positionText, type StreamLimits } from "./streams/event-stream.ts";
export type { AgentShelf } from "./v1/agents/agent-shelf.ts";
export { foundCredentials } from "./v1/agents/credentials.ts";
