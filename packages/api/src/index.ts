export { accessOperations, Health, Login, LoginCode } from "./access/access.ts";
export { RpcId, RpcMessage } from "./acp/message.ts";
export {
  ACP_CONNECTION,
  ACP_SESSION,
  acpOperations,
  RPC_CONNECTION,
  rpcOperations,
} from "./acp/operations.ts";
export { agentOperations } from "./agent-operations.ts";
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
export { Mail, MailMessage, mailboxOperations, NewMail } from "./mailbox/mailbox.ts";
export { named } from "./named.ts";
export { type ApiInfo, openApi } from "./openapi/openapi.ts";
export { type Audience, Nothing, type Operation, operation } from "./operation.ts";
export { operations } from "./operations.ts";
export { LoadedPolicy, PolicyAcceptance, PolicyStatus, policyOperations } from "./policy/policy.ts";
export { codeOfStatus, PROBLEM_TYPE, PROBLEMS, Problem, type ProblemCode, problem } from "./problem.ts";
export { Roster, RosterAgent, RosterChange, RosterEntry, rosterOperations } from "./roster/roster.ts";
export { Run, RunList, runOperations } from "./runs/runs.ts";
export { Session, SessionEnd, SessionPage, SessionState, sessionOperations } from "./sessions/sessions.ts";
