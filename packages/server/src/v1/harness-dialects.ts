import type { Dialect } from "../routes/router.ts";
import { approvalsDialect, grantsDialect } from "./approvals.ts";
import { identityDialect } from "./identity.ts";
import { ledgerDialect } from "./ledger.ts";
import { policyDialect, rosterDialect } from "./policy.ts";
import { studyDialect } from "./policy-study.ts";
import { runsDialect } from "./runs.ts";

/** What is asked of the harness itself, under `/v1`. */
export const harnessDialects: readonly Dialect[] = [
  approvalsDialect,
  grantsDialect,
  identityDialect,
  ledgerDialect,
  policyDialect,
  studyDialect,
  rosterDialect,
  runsDialect,
];
