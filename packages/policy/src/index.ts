export type { Action, Claims, ControlEvent, Counters, DecisionInput } from "./action.ts";
export {
  CONTROL_EVENTS,
  type Effect,
  type EffectKind,
  PLACES,
  type Place,
  type ReadEffect,
  type WriteEffect,
} from "./action.ts";
export {
  Backtest,
  type BacktestOptions,
  type BacktestReport,
  type ChangeKey,
  Coverage,
  type CoverageReport,
  type Direction,
  type Example,
  type Group,
  type UnnamedKey,
} from "./backtest/backtest.ts";
export { type ConstitutionCheck, checkConstitution, readPolicy } from "./backtest/check.ts";
export {
  type RecordedVerdict,
  RecordReader,
  type Unreplayable,
  withMembers,
} from "./backtest/recorded-verdict.ts";
export type { UnreplayableCounts } from "./backtest/replay.ts";
export type { CheckedDraft } from "./backtest/study-port.ts";
export { backtestDraft, checkDraft, coverDraft, StudyTimeout } from "./backtest/study-port.ts";
export { isHarmless } from "./conditions/conditions.ts";
export { milliseconds } from "./constitution/condition.ts";
export {
  ConstitutionFile,
  type ExternalHarness,
  type Limit,
  RuleVerdict,
} from "./constitution/constitution.ts";
export {
  type ConstitutionDifference,
  constitutionDifference,
  type Difference,
  isNoLooser,
  type MemberChange,
  SECTIONS,
  type Section,
} from "./constitution/difference.ts";
export type { ConstitutionText } from "./constitution/load.ts";
export {
  type DefaultFile,
  defaultFile,
  type FilePlace,
  loadPolicy,
  loadTestedPolicy,
  PolicyError,
  type PolicyFault,
} from "./constitution/load.ts";
export { type TestOutcome, testOutcomes } from "./constitution/run-tests.ts";
export { blake3Hex, History, NO_RULE, Policy, permitsAction } from "./decision/policy.ts";
export { type AskedClause, type Explained, type ExplainedRule, explainedBy } from "./decision/rules.ts";
export {
  type AskTerms,
  afterModify,
  isAtLeastAsStrict,
  type PolicyHashes,
  type PolicyVerdict,
} from "./decision/verdict.ts";
export { type FileKind, type FilePort, type FolderEntry, realFiles } from "./facts/files.ts";
export type { FactsContext } from "./facts/gather.ts";
export { findFolders, gatherFacts } from "./facts/gather.ts";
export { repositoryPrograms } from "./facts/git/repository.ts";
export { isManifest, type RunInputs, runInputs } from "./facts/run-inputs.ts";
export { type SimpleCommand, simpleCommand, tellingArguments } from "./facts/simple-command.ts";
export { loadToolTables, type ToolTable, type ToolTables } from "./facts/tool/tool-call.ts";
export { constitutionSchema, SCHEMA_FILE, schemaFile } from "./schema/json-schema.ts";
export {
  ENFORCEMENTS,
  type Enforcement,
  NETWORKS,
  type NetworkReach,
  ORIGINS,
  type Origin,
  Roster,
  RosterEntry,
  STARTS,
  type Started,
  type Subagent,
  type Subject,
  TRUST_LEVELS,
  type Trust,
} from "./subject.ts";
