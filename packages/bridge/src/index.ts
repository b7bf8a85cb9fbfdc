export {
  HOST_SOURCE,
  type HostTool,
  type HostToolList,
  HostTools,
  hostToolDescription,
  hostToolText,
  modelToolName,
  qualifiedNames,
  readHostTools,
  type SourcedName,
} from "./host-tools/host-tools.ts";
export { Idleness, MOST_MESSAGE_BYTES, type Wake, wakeOf } from "./idleness.ts";
export { type Memory, StoredMemory, VolatileMemory } from "./memory.ts";
export { itemSearch, searchItems } from "./search/bm25.ts";
export {
  type DeferralSettings,
  divideTools,
  namedTools,
  promote,
  type SearchableTool,
  type ToolHit,
  ToolIndex,
  toolTokens,
} from "./search/tool-index.ts";
export {
  type AskHost,
  type Embed,
  type EmbeddingEndpoint,
  embedderFor,
  type FoundTools,
  type SearchStrategy,
  searchTools,
  type ToolSearchOptions,
} from "./search/tool-search.ts";
export type { Bundle } from "./skills/bundle.ts";
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
export {
  cardText,
  MATCH_DEFAULTS,
  type MatchSettings,
  matchSkills,
  SkillActivation,
  type SkillUpdate,
  scopeTools,
} from "./skills/match.ts";
export { type MatchQuery, rankSkills, type SkillMatch } from "./skills/rank.ts";
export {
  checkSignature,
  readTrustedSigners,
  type SkillIdentity,
  signBundle,
  type TrustSettings,
  trustIn,
  trustSigner,
} from "./skills/signature.ts";
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
export { substitute } from "./skills/skill-file.ts";
export {
  BRIDGE_DEADLINES_MS,
  BridgeCallError,
  type BridgeFault,
  type BridgeMethod,
  type BridgePort,
  HOST_NOTIFICATIONS,
  type HostNotification,
  isBridgeMethod,
  isHostNotification,
  offersBridge,
  type PermissionReply,
  RETIRED_METHODS,
  readPermissionReply,
} from "./wire/bridge-port.ts";
export {
  type HostOffer,
  HostPulse,
  hostRankers,
  PeerBridge,
  serveHost,
  withinDeadline,
} from "./wire/peer-bridge.ts";
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
