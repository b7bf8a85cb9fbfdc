export { ProcessError, SandboxError } from "./errors.ts";
export { PrivateHome } from "./home/private-home.ts";
export { KillJournal, KillOrder, KillReport, killJournalIn, type UnrecordedKill } from "./kill/journal.ts";
export {
  type Killed,
  KillSwitch,
  type LiveProcess,
  ProcessRegistry,
  type ProcessRoot,
} from "./kill/kill-switch.ts";
export {
  AgentProcess,
  KeptOutput,
  type KeptText,
  type ProcessExit,
  Restarts,
  type StopReport,
} from "./process/agent-process.ts";
export { Owner } from "./process/owner.ts";
export { homePrefix, type Mark, type MemoryUse, memoryOf } from "./process/process-table.ts";
export { type Launch, type Spawned, spawnMarked } from "./process/spawn.ts";
export { Family } from "./process/sweep.ts";
export { inTerminal, resizeTerminal, type TerminalSize } from "./process/terminal.ts";
export {
  type Confinement,
  confine,
  detectSandbox,
  type Network,
  networkReach,
  type Sandbox,
  type SandboxStatus,
} from "./sandbox/confine.ts";
export { addressScope, publicLookup } from "./sandbox/host-proxy.ts";
export { folderIdentity } from "./sandbox/view.ts";
