import type { Operations, Tables } from "@reins/store";
import { approvalTables } from "../approvals/tables.ts";
import { identityTables } from "../identity/tables/tables.ts";
import { limitTables } from "../limits/tables.ts";
import { reportTables } from "../reports/tables.ts";
import { runTables } from "../runs/tables.ts";

/** The tables that a harness keeps, beside the ledger's own. */
export const harnessTables: readonly Tables<Operations, Operations>[] = [
  approvalTables,
  identityTables,
  limitTables,
  reportTables,
  runTables,
];
