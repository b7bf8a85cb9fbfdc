export {
  type AssistantMessage,
  type Carried,
  type CarrierContext,
  type CarrierTool,
  carrierTool,
  declarationSource,
  type NativeCall,
  readCarried,
  readDeclared,
  type Violation,
} from "./declaration/carrier.ts";
export { assertNoConflict, isElsewhere, pathOfResource } from "./declaration/conflicts.ts";
export {
  CARRIER_TOOL,
  DECLARED_PAYLOADS,
  DeclarationEnvelope,
  MOST_ACTIONS,
  type ProtocolDeclaration,
  ProtocolOutput,
  type Status,
  VERSION,
} from "./declaration/grammar.ts";
export {
  actionOfGraph,
  type Graph,
  type GraphAction,
  graphOfCalls,
  graphOfDeclaration,
} from "./declaration/graph.ts";
export {
  type Compliance,
  countMessage,
  NO_COMPLIANCE,
  protocolInstructions,
} from "./declaration/instructions.ts";
export type { MarkdownSection } from "./declaration/markdown.ts";
export { ProtocolError, type ProtocolErrorCode } from "./declaration/protocol-error.ts";
export {
  artifactAction,
  type Reference,
  readReference,
  referenceText,
  withReferences,
} from "./declaration/reference.ts";
export {
  inheritVisibility,
  isWider,
  mayHandOver,
  type ReferenceSource,
  referencesOf,
  type Viewer,
  type Visibility,
} from "./declaration/visibility.ts";
export type { EngineEnd, EngineRun, Orchestration, RunEngine, RunScope } from "./engine/engine.ts";
export { JournalEngine, type JournaledRun, type RunJournal, sentNumber } from "./engine/journal-engine.ts";
export { type JournalSeal, journalPlace, StoreJournal } from "./engine/store-journal.ts";
export { graphTables } from "./engine/tables.ts";
export {
  type AgentReport,
  type Assignment,
  type Authority,
  answerSummary,
  assignmentText,
  backgroundTexts,
  expectedOutputs,
  type Handoff,
  readAnswer,
} from "./run/assignment.ts";
export { chooseExecutor, type Executor, misfit, registryView, writesOf } from "./run/executors.ts";
export { type ActionState, hasEnded } from "./run/progress.ts";
export { runGraph } from "./run/schedule.ts";
export type {
  Attempt,
  AttemptRequest,
  RunChange,
  RunResult,
  RunStanding,
  SchedulePorts,
  WaitsFor,
} from "./run/schedule-ports.ts";
export {
  CONTROL,
  type Control,
  type ControlChange,
  type ControlOrigin,
  sendControl,
} from "./run/schedule-ports.ts";
export { type Expanded, type ExpandRange, expandText } from "./view/expand.ts";
export {
  CHARACTERS,
  needsSummarizer,
  type Observation,
  type ObservationLimits,
  observe,
  outputSummary,
} from "./view/observation.ts";
export {
  type ActionRecord,
  controlText,
  outputRef,
  type ProjectedAction,
  type ProjectedControl,
  type ProjectedRun,
  projectControl,
  projectRun,
  type RunRecord,
  runSummary,
} from "./view/projection.ts";
export { reportFaults } from "./view/result-record.ts";
export {
  nodeRequest,
  type RunTurn,
  type TranscriptOptions,
  type TranscriptTurn,
  transcript,
} from "./view/transcript.ts";
