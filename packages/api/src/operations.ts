import { accessOperations } from "./access/access.ts";
import { approvalOperations } from "./approvals/operations.ts";
import { identityOperations } from "./identity/operations.ts";
import { selfOperations } from "./identity/self.ts";
import { ledgerOperations } from "./ledger/operations.ts";
import type { Operation } from "./operation.ts";
import { policyOperations } from "./policy/policy.ts";
import { studyOperations } from "./policy/study.ts";
import { rosterOperations } from "./roster/roster.ts";
import { runOperations } from "./runs/runs.ts";

/** Everything that can be asked for under `/v1`, one question and one answer each. */
export const operations: readonly Operation[] = [
  accessOperations,
  approvalOperations,
  identityOperations,
  ledgerOperations,
  policyOperations,
  studyOperations,
  rosterOperations,
  runOperations,
  selfOperations,
].flatMap((group): readonly Operation[] => Object.values(group));
