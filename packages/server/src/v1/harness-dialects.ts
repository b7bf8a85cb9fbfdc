import type { Routes } from "../routes/router.ts";
import { approvalRoutes, grantRoutes } from "./approvals.ts";
import { identityRoutes } from "./identity.ts";
import { ledgerRoutes } from "./ledger.ts";
import { policyRoutes, rosterRoutes } from "./policy.ts";
import { studyRoutes } from "./policy-study.ts";
import { runRoutes } from "./runs.ts";

/** What is asked of the harness itself, under `/v1`. */
export const harnessRoutes: readonly Routes[] = [
  approvalRoutes,
  grantRoutes,
  identityRoutes,
  ledgerRoutes,
  policyRoutes,
  studyRoutes,
  rosterRoutes,
  runRoutes,
];
