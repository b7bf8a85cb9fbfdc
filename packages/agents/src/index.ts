export { AgentEntry, type CommandEffect } from "./agent-entry.ts";
export { AgentError } from "./agent-error.ts";
export {
  type AgentLaunch,
  CATALOGUE_FILES,
  droppedVariables,
  isPassable,
  launchOf,
  type ModelEndpoint,
  sessionMeta,
  typedOption,
} from "./agent-launch.ts";
export { Catalogue } from "./catalogue.ts";
export { codexHooks, switchedOffBy, trustLines } from "./hooks/effective-hooks.ts";
export { type HookAgent, hookAgent, hookAgents, settingsPath } from "./hooks/hook-agents.ts";
export { type HookReport, type ProbeHarness, probeHooks } from "./hooks/hook-probe.ts";
export {
  type HookInstall,
  type HookState,
  hookState,
  installHooks,
  uninstallHooks,
  waitOf,
} from "./hooks/hook-settings.ts";
export { prepareTerminal, runInTerminal, type TerminalRun, terminalLaunch } from "./hooks/terminal-launch.ts";
export type { PlannedInstall } from "./install/installation.ts";
export {
  type Installed,
  type InstalledAgent,
  Installer,
  type InstallOptions,
  type InstallProgress,
} from "./install/installer.ts";
export { findNpm } from "./install/npm.ts";
export { writeProvenance } from "./install/version-folders.ts";
export { ProbeCache, type Probed, probe, probeAgent, processChannel } from "./probe.ts";
export { whyPinned } from "./registry/registry-plan.ts";
export { RegistrySource, type RegistryState } from "./registry/registry-source.ts";
export { MODEL_API_NAMES, type ModelApi, undescribed } from "./undescribed-agent.ts";
export type { Evidence, ProbeOutcome, ProbeResult } from "./verify/findings.ts";
export { ERRAND, type TrialAnswer } from "./verify/gate-probe.ts";
export { Stamps, type Standing } from "./verify/stamp.ts";
export { type GovernedTrial, type GovernedTrialOptions, Trial, type TrialRecord } from "./verify/trial.ts";
export {
  type VerifyOptions,
  type VerifyProgress,
  type VerifyReport,
  verifyGate,
} from "./verify/verify-agent.ts";
