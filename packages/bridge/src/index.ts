export {
  HostTools,
  hostToolDescription,
  hostToolText,
} from "./host-tools/host-tools.ts";
export { type HostTool, type HostToolList, readHostTools } from "./host-tools/read-host-tools.ts";
export { Idleness, MOST_MESSAGE_BYTES, type Wake, wakeOf } from "./idleness.ts";
export { type Memory, VolatileMemory } from "./memory.ts";
export { HOST_SOURCE, modelToolName, qualifiedNames, type SourcedName } from "./qualified-names.ts";
export { itemSearch, searchItems } from "./search/bm25.ts";
export { type Embed, type EmbeddingEndpoint, embedderFor } from "./search/embedding-search.ts";
export type { AskHost } from "./search/host-search.ts";
export { type DeferralSettings, divideTools, promote, toolTokens } from "./search/promotion.ts";
export type { FoundTools } from "./search/regex-search.ts";
export { namedTools, type SearchableTool, type ToolHit, ToolIndex } from "./search/tool-index.ts";
export { type SearchStrategy, searchTools, type ToolSearchOptions } from "./search/tool-search.ts";
export { SkillActivation, type SkillUpdate } from "./skills/activation.ts";
export type { Bundle } from "./skills/bundle.ts";
export { cardText } from "./skills/cards.ts";
export { type LayerOrder, SkillCatalogue } from "./skills/catalogue.ts";
export {
  type DiscoveryOptions,
  discoverSkills,
  readSkillFolder,
  readSkillText,
  reloadSkill,
  type SkillRoot,
} from "./skills/discover.ts";
export { type HostRequest, HostSkills } from "./skills/host-skills.ts";
export { MATCH_DEFAULTS, type MatchSettings, matchSkills } from "./skills/match.ts";
export { type MatchQuery, rankSkills, type SkillMatch } from "./skills/rank.ts";
export { scopeTools } from "./skills/scope.ts";
export { checkSignature, readTrustedSigners, signBundle, trustSigner } from "./skills/signature.ts";
export {
  isUsable,
  type LoadedSkill,
  notApplied,
  SKILL_LAYERS,
  type Skill,
  SkillError,
  type SkillLayer,
  type SkillWarning,
} from "./skills/skill.ts";
export { substitute } from "./skills/substitute.ts";
export { type SkillIdentity, type TrustSettings, trustIn } from "./skills/trust.ts";
export { StoredMemory } from "./stored-memory.ts";
export { BridgeCallError, type BridgeFault, type BridgePort } from "./wire/bridge-port.ts";
export { offersBridge } from "./wire/capability.ts";
export { withinDeadline } from "./wire/deadline.ts";
export { HostPulse } from "./wire/host-pulse.ts";
export { hostRankers } from "./wire/host-rankers.ts";
export {
  BRIDGE_DEADLINES_MS,
  type BridgeMethod,
  HOST_NOTIFICATIONS,
  type HostNotification,
  isBridgeMethod,
  isHostNotification,
  RETIRED_METHODS,
} from "./wire/methods.ts";
export { PeerBridge } from "./wire/peer-bridge.ts";
export { type PermissionReply, readPermissionReply } from "./wire/permission-reply.ts";
export { type HostOffer, serveHost } from "./wire/serve-host.ts";
export {
  advanceWorker,
  interruptedUpdate,
  isTerminal,
  spawnWorker,
  type Worker,
  type WorkerDetails,
  type WorkerEvent,
  type WorkerUpdate,
  workerUpdate,
} from "./worker.ts";
