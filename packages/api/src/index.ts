export { accessOperations, Health, Login, LoginCode, NewLoginCode } from "./access/access.ts";
export { RpcId, RpcMessage } from "./acp/message.ts";
export {
  ACP_CONNECTION,
  ACP_SESSION,
  acpOperations,
  RPC_CONNECTION,
  rpcOperations,
} from "./acp/operations.ts";
export { agentOperations } from "./agent-operations.ts";
export {
  Agent,
  AgentDetail,
  AgentInstall,
  AgentList,
  AgentVerification,
} from "./agents/agent.ts";
export {
  AgentInstallProgress,
  AgentInstallRequest,
  AgentProcessList,
  AgentVerifyProgress,
  agentsOperations,
} from "./agents/operations.ts";
export { AgentProcess, KeptStderr } from "./agents/process.ts";
export { Action, Effect } from "./approvals/action.ts";
export {
  Approval,
  ApprovalAnswer,
  ApprovalChange,
  ApprovalOption,
  ApprovalPage,
  ApprovalState,
  DescribedApproval,
  GivenAnswer,
  ShownApproval,
  WithheldApproval,
} from "./approvals/approval.ts";
export { Grant, GrantPage } from "./approvals/grant.ts";
export { approvalOperations } from "./approvals/operations.ts";
export { BoardExcerpt, boardOperations, NewPost } from "./board/board.ts";
export { Connection, ConnectionPage, connectionOperations } from "./connections/connections.ts";
export { HaakMessage, HaakSession, HaakTurn, haakOperations } from "./haak/haak.ts";
export { hostOperations } from "./host-operations.ts";
export { identityOperations } from "./identity/operations.ts";
export {
  ChildSession,
  CreatedToken,
  NewToken,
  NewUser,
  Tenant,
  Token,
  User,
  UserChange,
} from "./identity/schemas.ts";
export { Self, selfOperations } from "./identity/self.ts";
export { KilledProcess, KillReport, KillRequest, killOperations } from "./kill/kill.ts";
export { EntryPage, LedgerQuality, PlacedEntry, RecordedEntry } from "./ledger/entry.ts";
export { ledgerOperations } from "./ledger/operations.ts";
export { ConsistencyProof, EntryProof, LedgerCheckpoint, LedgerKey, LedgerKeys } from "./ledger/proof.ts";
export { Mail, MailMessage, mailboxOperations, NewMail } from "./mailbox/mailbox.ts";
export { MemoryFact, MemoryFacts, memoryOperations, NewMemoryFact } from "./memory/memory.ts";
export { metricsOperations, Overview } from "./metrics/metrics.ts";
export { named } from "./named.ts";
export { type ApiInfo, openApi } from "./openapi/openapi.ts";
export { type Audience, NoMembers, Nothing, type Operation, operation } from "./operation.ts";
export { operations } from "./operations.ts";
export { operatorOperations } from "./operator-operations.ts";
export { LoadedPolicy, PolicyAcceptance, PolicyStatus, policyOperations } from "./policy/policy.ts";
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
} from "./policy/study.ts";
export { codeOfStatus, PROBLEM_TYPE, PROBLEMS, Problem, type ProblemCode, problem } from "./problem.ts";
export { Roster, RosterAgent, RosterChange, RosterEntry, rosterOperations } from "./roster/roster.ts";
export { Run, RunEvent, RunEventPage, RunList, runOperations } from "./runs/runs.ts";
export { Session, SessionEnd, SessionPage, SessionState, sessionOperations } from "./sessions/sessions.ts";
export {
  LoggedRequest,
  RequestPage,
  WireEnvelope,
  WirePage,
  wireOperations,
} from "./wire/wire.ts";
