export { Access, type AccessOptions, LOCAL } from "./access/access.ts";
export type { Caller } from "./access/authenticator.ts";
export { AccessError } from "./access/logins.ts";
export { OidcIssuer } from "./access/oidc/issuer.ts";
export { type AgentRoutesOptions, agentRoutes } from "./acp/agent-routes.ts";
export { AdminApi, type AdminApiOptions } from "./admin.ts";
export { Cluster, Membership } from "./cluster/cluster.ts";
export { NodeLink } from "./cluster/node-link.ts";
export type { ConnectionLimits } from "./connections/connections.ts";
export {
  Gateway,
  type GatewayOptions,
  type ListenOptions,
} from "./gateway/gateway.ts";
export type { Tls } from "./gateway/listener.ts";
export { type HaakRoutesOptions, haakRoutes } from "./haak/haak-routes.ts";
export { hostRoutes } from "./haak/host-routes.ts";
export type { GatewayLimits, Log } from "./limits.ts";
export { HttpProblem, type HttpProblemOptions } from "./problems.ts";
export {
  type HaakSettings,
  type LedgerHandle,
  type OpenHarness,
  openHarness,
  openReins,
  type Reins,
  type ServedReins,
} from "./reins.ts";
export type {
  AuthorizedCall,
  OperationCall,
  RawHandler,
  Router,
  Routes,
  UpgradeHandler,
  UpgradeOptions,
} from "./routes/router.ts";
export { homeTables } from "./tables.ts";
export { type AgentRegistry, foundCredentials } from "./v1/shown-agent.ts";
export { type SkillSources, skillRoutes } from "./v1/skills.ts";
