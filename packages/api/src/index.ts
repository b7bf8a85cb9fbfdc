export { accessOperations, Health, Login, LoginCode, NewLoginCode } from "./access.ts";
export {
  ACP_CONNECTION,
  ACP_SESSION,
  acpOperations,
  RPC_CONNECTION,
  RpcId,
  RpcMessage,
  rpcOperations,
} from "./acp.ts";
export {
  Agent,
  AgentDetail,
  AgentInstall,
  AgentInstallProgress,
  AgentInstallRequest,
  AgentList,
  AgentProcess,
  AgentProcessList,
  AgentVerification,
  AgentVerifyProgress,
  agentsOperations,
  KeptStderr,
} from "./agents.ts";
export {
  Action,
  Approval,
  ApprovalAnswer,
  ApprovalChange,
  ApprovalOption,
  ApprovalPage,
  ApprovalState,
  approvalOperations,
  DescribedApproval,
  Effect,
  GivenAnswer,
  Grant,
  GrantPage,
  ShownApproval,
  WithheldApproval,
} from "./approvals.ts";
export { BoardExcerpt, boardOperations, NewPost } from "./board.ts";
export { Connection, ConnectionPage, connectionOperations } from "./connections.ts";
export { HaakMessage, HaakSession, HaakTurn, haakOperations } from "./haak.ts";
export {
  ChildSession,
  CreatedToken,
  identityOperations,
  NewToken,
  NewUser,
  Self,
  selfOperations,
  Tenant,
  Token,
  User,
  UserChange,
} from "./identity.ts";
export { KilledProcess, KillReport, KillRequest, killOperations } from "./kill.ts";
export {
  ConsistencyProof,
  EntryPage,
  EntryProof,
  LedgerCheckpoint,
  LedgerKey,
  LedgerKeys,
  LedgerQuality,
  ledgerOperations,
  PlacedEntry,
  RecordedEntry,
} from "./ledger.ts";
export { Mail, MailMessage, mailboxOperations, NewMail } from "./mailbox.ts";
export { MemoryFact, MemoryFacts, memoryOperations, NewMemoryFact } from "./memory.ts";
export { metricsOperations, Overview } from "./metrics.ts";
export { type ApiInfo, openApi } from "./openapi.ts";
export { type Audience, NoMembers, Nothing, type Operation, operation } from "./operation.ts";
export { agentOperations, hostOperations, operations, operatorOperations } from "./operations.ts";
export { LoadedPolicy, PolicyAcceptance, PolicyStatus, policyOperations } from "./policy.ts";
export {
  BacktestReport,
  CoverageReport,
  ExplainedLimit,
  ExplainedRule,
  ExplainRequest,
  PolicyCheck,
  PolicyDraft,
  PolicyExplanation,
  PolicyFault,
  PolicyTestOutcome,
  PolicyTestReport,
  studyOperations,
} from "./policy-study.ts";
export { codeOfStatus, PROBLEM_TYPE, PROBLEMS, Problem, type ProblemCode, problem } from "./problem.ts";
export { Roster, RosterAgent, RosterChange, RosterEntry, rosterOperations } from "./roster.ts";
export { Run, RunEvent, RunEventPage, RunList, runOperations } from "./runs.ts";
export { named } from "./schema.ts";
export { Session, SessionEnd, SessionPage, SessionState, sessionOperations } from "./sessions.ts";
export {
  LoggedRequest,
  RequestPage,
  WireEnvelope,
  WirePage,
  wireOperations,
} from "./wire.ts";
