export { accessOperations } from "./access.ts";
export {
  accessMatrix,
  CALLERS,
  type CallerKind,
  type MatrixCell,
  NAMING,
  OBJECTS,
  OTHER_DOORS,
  type OtherDoor,
  objectCell,
  permissionOf,
  RELATIONS,
} from "./access-matrix.ts";
export {
  acpOperations,
  Connection,
  ConnectionPage,
  connectionOperations,
  RpcId,
  RpcMessage,
  rpcOperations,
} from "./acp.ts";
export {
  Agent,
  AgentDetail,
  AgentInstall,
  AgentInstallProgress,
  AgentList,
  AgentProcess,
  AgentProcessList,
  AgentRemoveProgress,
  AgentVerification,
  AgentVerifyProgress,
  agentsOperations,
  KeptStderr,
} from "./agents.ts";
export {
  Action,
  Approval,
  ApprovalChange,
  approvalOperations,
  Grant,
  ShownApproval,
  WithheldApproval,
} from "./approvals.ts";
export { FileEntry, FileStat, fileOperations } from "./files.ts";
export { haakOperations } from "./haak.ts";
export { identityOperations, Self, selfOperations, Token, User } from "./identity.ts";
export { KillReport, KillRequest, killOperations } from "./kill.ts";
export {
  EntryPage,
  EntryProof,
  LedgerCheckpoint,
  LedgerQuality,
  ledgerOperations,
  PlacedEntry,
} from "./ledger.ts";
export { boardOperations, MailMessage, mailboxOperations } from "./mailbox.ts";
export { MemoryFact, memoryOperations } from "./memory.ts";
export {
  auditOperations,
  LoggedRequest,
  metricsOperations,
  Overview,
  RequestPage,
  WireEnvelope,
  WirePage,
  wireOperations,
} from "./metrics.ts";
export { nodeOperations, type ShownNode } from "./nodes.ts";
export { openApi } from "./openapi.ts";
export { type OpenCodePrompt, type OpenCodePromptPart, opencodeOperations } from "./opencode.ts";
export {
  ACP_CONNECTION,
  ACP_SESSION,
  type Audience,
  NoMembers,
  Nothing,
  type Operation,
  RPC_CONNECTION,
} from "./operation.ts";
export { agentOperations, hostOperations, operations, operatorOperations } from "./operations.ts";
export { LoadedPolicy, PolicyStatus, policyOperations, RosterAgent, rosterOperations } from "./policy.ts";
export {
  BacktestReport,
  CoverageReport,
  ExplainedLimit,
  ExplainedRule,
  ExplainRequest,
  PolicyCheck,
  PolicyExplanation,
  PolicyTestOutcome,
  studyOperations,
} from "./policy-study.ts";
export { codeOfStatus, PROBLEM_TYPE, PROBLEMS, Problem, type ProblemCode, problem } from "./problem.ts";
export { RewindReport, RewindTurn, RewindTurns, rewindOperations } from "./rewinds.ts";
export {
  ExpandedRef,
  graphOperations,
  Run,
  RunAction,
  RunControl,
  RunEvent,
  RunEventPage,
  RunGraph,
  runOperations,
  StartRun,
} from "./runs.ts";
export { commandOperations, configOperations, sandboxAcpOperations } from "./sandbox-agent.ts";
export { Session, SessionPage, sessionOperations } from "./sessions.ts";
export {
  type SkillDetails,
  type SkillList,
  type SkillMatches,
  type SkillSummary,
  skillOperations,
} from "./skills.ts";
export { mcpOperations, SessionTool, SessionTools, ToolPin, toolOperations } from "./tools.ts";
