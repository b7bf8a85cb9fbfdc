export { Idleness, type Wake, wakeOf } from "./idleness.ts";
export { type Memory, VolatileMemory } from "./memory.ts";
export { HOST_SOURCE, modelToolName, qualifiedNames, type SourcedName } from "./qualified-names.ts";
export { searchItems } from "./search/bm25.ts";
export { StoredMemory } from "./stored-memory.ts";
export { BridgeCallError, type BridgeFault, type BridgePort } from "./wire/bridge-port.ts";
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
export {
  advanceWorker,
  bridgeWorkerUpdate,
  isTerminal,
  spawnWorker,
  type Worker,
  type WorkerDetails,
  type WorkerEvent,
  type WorkerUpdate,
  workerUpdate,
} from "./worker.ts";
