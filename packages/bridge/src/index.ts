export { Idleness, type Wake, wakeOf } from "./idleness.ts";
export { type Memory, VolatileMemory } from "./memory.ts";
export { searchItems } from "./search/bm25.ts";
export { StoredMemory } from "./stored-memory.ts";
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
