export { BridgeError, type BridgeErrorCode } from "./bridge-error.ts";
export { IDLE_BACKOFF_MS, type IdleTick, nextTick } from "./idle/backoff.ts";
export { Idleness, type IdlenessOptions } from "./idle/idleness.ts";
export { type Delivery, type Wake, wakeOf } from "./idle/wake.ts";
export type { Memory, MemoryFact, NewFact, RecalledFact, RecallQuery } from "./memory/memory.ts";
export { StoredMemory, type StoredMemoryOptions } from "./memory/stored-memory.ts";
export { memoryTables } from "./memory/tables.ts";
export { VolatileMemory } from "./memory/volatile-memory.ts";
export { searchItems } from "./search/bm25.ts";
export {
  advanceWorker,
  isTerminal,
  type NewWorker,
  spawnWorker,
  type Worker,
  type WorkerAudit,
  type WorkerDetails,
  type WorkerEvent,
  type WorkerMode,
  type WorkerStatus,
} from "./worker/worker.ts";
export {
  type BridgeWorkerUpdate,
  bridgeWorkerUpdate,
  type WorkerUpdate,
  workerUpdate,
} from "./worker/worker-update.ts";
