import type { Dialect } from "../dialect/dialect.ts";
import { approvalsDialect } from "./approvals.ts";
import { grantsDialect } from "./grants.ts";
import { identityDialect } from "./identity.ts";
import { ledgerDialect } from "./ledger/ledger-dialect.ts";
import { studyDialect } from "./policy/study-dialect.ts";
import { policyDialect } from "./policy.ts";
import { rosterDialect } from "./roster.ts";
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
