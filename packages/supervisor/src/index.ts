/** Numbers that JavaScript cannot hold keep their digits, for packages that speak no AHP. */
export { exactNumber, parseExact } from "@reins/ahp";
export type {
  ControlEvent,
  Enforcement,
  NetworkReach,
  Origin,
  Roster,
  Subject,
  Trust,
} from "@reins/policy";
export type { FamilyAnswers, FamilyAsker } from "./ahp/families.ts";
export { type SupervisorParts, supervisorHandlers } from "./ahp/handlers.ts";
export { type Answerer, answererOf, isConcerned, mayAnswer } from "./approvals/answerer.ts";
export { type Approval, Approvals, type ApprovalsOptions, type GivenAnswer } from "./approvals/approvals.ts";
export { describeApproval } from "./approvals/describe.ts";
export { changeShownTo, shownTo, type WithheldApproval } from "./approvals/shown.ts";
export { approvalTables } from "./approvals/tables.ts";
export type { Decided } from "./decision/decided.ts";
export { Harnesses } from "./decision/harnesses.ts";
export type { CallEnd, OpenCall } from "./decision/open-calls.ts";
export type { GatherFacts, TargetState } from "./decision/ports.ts";
export type { RequestContext, Workspace } from "./decision/request-context.ts";
export { Supervisor, type SupervisorObserver, type SupervisorOptions } from "./decision/supervisor.ts";
export { Harness, type HarnessOptions } from "./harness/harness.ts";
export { harnessTables } from "./harness/tables.ts";
export { tenantFor } from "./identity/authority.ts";
export { Identity, type IdentityOptions } from "./identity/identity.ts";
export { actorOf, DEFAULT_TENANT, isAdmin, isOperator, LOCAL, type Principal } from "./identity/principal.ts";
export { identityRoutes } from "./identity/routes/identity-routes.ts";
export { problemOf } from "./identity/routes/problem.ts";
export { identityTables } from "./identity/tables/tables.ts";
export { Limits } from "./limits/limits.ts";
export { limitTables } from "./limits/tables.ts";
export type { Usage } from "./limits/usage.ts";
export { faultSentences, memberFaults } from "./member-faults.ts";
export { writeFirstFiles } from "./policies/first-files.ts";
export { type NamedPolicyFiles, policyFiles } from "./policies/policy-home.ts";
export { PolicyKeeper, type PolicyKeeperOptions, type PolicyStatus } from "./policies/policy-keeper.ts";
export { RosterFile, type RosterFileOptions } from "./policies/roster-file.ts";
export { lifecycleDraft, resultDraft, UNGATED } from "./record/drafts.ts";
export { scrubbed } from "./record/scrubbed.ts";
export { sessionKey } from "./record/session-key.ts";
export { Vault } from "./record/vault.ts";
export { VaultError, type VaultErrorCode } from "./record/vault-error.ts";
export { looksSecret } from "./redaction/looks-secret.ts";
export { type Redact, redact } from "./redaction/redact.ts";
export type { RedactingStream } from "./redaction/redacting-stream.ts";
export { type Ending, Redactor, type RedactorOptions } from "./redaction/redactor.ts";
export type { Update } from "./redaction/updates/update.ts";
export { UpdateRedactor, type UpdateRedactorOptions } from "./redaction/updates/update-redactor.ts";
export type { Report, ReportKind } from "./reports/tables.ts";
export { type RunListener, Runs } from "./runs/runs.ts";
export { type RunContract, type RunEvent, type RunState, runTables } from "./runs/tables.ts";
export type { Explanation } from "./study/explanation.ts";
export { pastVerdicts, policiesInForce } from "./study/past-verdicts.ts";
export { type PastVerdicts, type PolicyDraft, PolicyStudy } from "./study/policy-study.ts";
export { SupervisorError, type SupervisorErrorCode } from "./supervisor-error.ts";
