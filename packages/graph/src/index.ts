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
export { type Compliance, complianceRates, countMessage, NO_COMPLIANCE } from "./compliance.ts";
export type { EngineRun, Orchestration, RunEngine, RunScope } from "./engine.ts";
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
export {
  type ActionRecord,
  isOver,
  outputRef,
  type ProjectedAction,
  type ProjectedRun,
  projectRun,
  type RunRecord,
  runSummary,
  type WaitsFor,
} from "./projection.ts";
export { ProtocolError, type ProtocolErrorCode } from "./protocol-error.ts";
export { type Reference, readReference, withReferences } from "./reference.ts";
export { reportFaults } from "./report.ts";
export { type ResultRecord, resultRecord } from "./result-record.ts";
export {
  type ActionState,
  type Attempt,
  type AttemptRequest,
  type Control,
  controlName,
  type RunResult,
  runGraph,
  type SchedulePorts,
} from "./schedule.ts";
export { StoreJournal } from "./store-journal.ts";
export { graphTables } from "./tables.ts";
export {
  nodeRequest,
  type RunTurn,
  type TranscriptOptions,
  type TranscriptTurn,
  transcript,
} from "./transcript.ts";
