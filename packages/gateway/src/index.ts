export { GATEWAY_METHODS, PROVIDERS, type Provider } from "./dialects.ts";
export {
  type Admission,
  type CallGovernor,
  type CallOutcome,
  type GatewayLease,
  type ModelCall,
  ModelGateway,
  type Spending,
  whyUnpriced,
} from "./model-gateway.ts";
export { ModelPrice, PriceList } from "./prices.ts";
export { ProviderKeyError, ProviderKeys } from "./provider-keys.ts";
export type { CountedUsage } from "./usage.ts";
