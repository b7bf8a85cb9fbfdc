export { type EventType, exactNumber, parseExact } from "@reins/ahp";
export type {
  ControlEvent,
  DecisionInput,
  Enforcement,
  NetworkReach,
  Origin,
  Roster,
  Subject,
  Trust,
} from "@reins/policy";
export { type FilePort, realFiles, repositoryPrograms } from "@reins/policy";
export {
  lifecycleDraft,
  resultDraft,
  type SupervisorParts,
  supervisorHandlers,
  UNGATED,
} from "./ahp/handlers.ts";
export type { FamilyAnswers, FamilyAsker, HookEvent, HookPort, PromptStep } from "./ahp/subject.ts";
export {
  type Answerer,
  answererOf,
  changeShownTo,
  describeApproval,
  isConcerned,
  mayAnswer,
  shownTo,
  type WithheldApproval,
} from "./approvals/answerer.ts";
export { type Approval, Approvals, type ApprovalsOptions, type GivenAnswer } from "./approvals/approvals.ts";
export { approvalTables } from "./approvals/tables.ts";
export {
  expectUsable,
  type Post,
  postOverHttp,
  SIGNATURE_HEADER,
  sign,
} from "./approvals/webhooks/lane.ts";
export type {
  Decided,
  DecisionRequest,
  GatherFacts,
  RequestContext,
  TargetState,
  Workspace,
} from "./decision/decision.ts";
export { Harnesses } from "./decision/harnesses.ts";
export type {
  CallEnd,
  EndedTurn,
  OpenCall,
  RequestTokens,
  SettledCall,
  StartedTurn,
  SupervisorObserver,
} from "./decision/observer.ts";
export { Supervisor, type SupervisorOptions } from "./decision/supervisor.ts";
export {
  problemOf,
  SupervisorError,
  type SupervisorErrorCode,
} from "./errors.ts";
export { Harness, type HarnessOptions, toolsOfAgent } from "./harness/harness.ts";
export { harnessTables } from "./harness/tables.ts";
export type { Vouched } from "./identity/admission.ts";
export { Identity, type IdentityOptions } from "./identity/identity.ts";
export {
  actorOf,
  DEFAULT_TENANT,
  isAdmin,
  isOperator,
  LOCAL,
  type Principal,
} from "./identity/principal.ts";
export { tenantFor } from "./identity/registry.ts";
export { identityTables } from "./identity/tables/tables.ts";
export { Limits } from "./limits/limits.ts";
export {
  QuotaError,
  type QuotaHolder,
  type QuotaSettings,
  Quotas,
} from "./limits/quotas.ts";
export { limitTables, type Usage } from "./limits/tables.ts";
export { type NamedPolicyFiles, policyFiles, writeFirstFiles } from "./policies/policy-files.ts";
export { PolicyKeeper, type PolicyKeeperOptions, type PolicyStatus } from "./policies/policy-keeper.ts";
export { RosterFile, type RosterFileOptions } from "./policies/roster-file.ts";
export { sessionKey } from "./record/record.ts";
export { scrubbed, Vault, VaultError, type VaultErrorCode } from "./record/vault.ts";
export type { RedactingStream } from "./redaction/redacting-stream.ts";
export {
  type Ending,
  looksSecret,
  type Redact,
  Redactor,
  type RedactorOptions,
  redact,
} from "./redaction/redactor.ts";
export { type Update, UpdateRedactor, type UpdateRedactorOptions } from "./redaction/update-redactor.ts";
export type { Report, ReportKind } from "./reports/tables.ts";
export { type RunListener, Runs, readReport } from "./runs/runs.ts";
export { type RunContract, type RunEvent, type RunState, runTables } from "./runs/tables.ts";
export type { Explanation } from "./study/past-verdicts.ts";
export { pastVerdicts, policiesInForce } from "./study/past-verdicts.ts";
export { type PastVerdicts, type PolicyDraft, PolicyStudy } from "./study/policy-study.ts";
