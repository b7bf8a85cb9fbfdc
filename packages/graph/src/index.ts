export { type Assignment, type Authority, assignmentText, Handoff, handoffText } from "./assignment.ts";
export {
  type AssistantMessage,
  type Carried,
  type CarrierContext,
  type NativeCall,
  readCarried,
  readDeclared,
  type Violation,
} from "./carrier.ts";
export { type CarrierTool, carrierTool } from "./carrier-tool.ts";
export { type Compliance, complianceRates, countMessage, NO_COMPLIANCE } from "./compliance.ts";
export { assertNoConflict } from "./conflicts.ts";
export { type Control, sendControl } from "./control.ts";
export type { EngineEnd, EngineRun, Orchestration, RunEngine, RunScope } from "./engine.ts";
export { chooseExecutor, type Executor, registryView, writesOf } from "./executors.ts";
export { type Expanded, type ExpandRange, expandText } from "./expand.ts";
export {
  CARRIER_TOOL,
  DECLARED_PAYLOADS,
  DeclarationEnvelope,
  type ProtocolDeclaration,
  ProtocolOutput,
  type Status,
  VERSION,
} from "./grammar.ts";
export { type Graph, type GraphAction, graphOfCalls, graphOfDeclaration } from "./graph.ts";
export { protocolInstructions } from "./instructions.ts";
export { JournalEngine, type JournaledRun, type RunJournal } from "./journal-engine.ts";
export { type Observation, observe, outputSummary } from "./observation.ts";
export { type ActionState, hasEnded } from "./progress.ts";
export {
  type ActionRecord,
  outputRef,
  type ProjectedAction,
  type ProjectedRun,
  projectRun,
  type RunRecord,
  runSummary,
} from "./projection.ts";
export { ProtocolError, type ProtocolErrorCode } from "./protocol-error.ts";
export { artifactAction, type Reference, readReference, withReferences } from "./reference.ts";
export { reportFaults } from "./report.ts";
export { type ResultRecord, resultRecord } from "./result-record.ts";
export { runGraph } from "./schedule.ts";
export type {
  Attempt,
  AttemptRequest,
  RunChange,
  RunResult,
  RunStanding,
  SchedulePorts,
  WaitsFor,
} from "./schedule-ports.ts";
export { StoreJournal } from "./store-journal.ts";
export { graphTables } from "./tables.ts";
export {
  nodeRequest,
  type RunTurn,
  type TranscriptOptions,
  type TranscriptTurn,
  transcript,
} from "./transcript.ts";
