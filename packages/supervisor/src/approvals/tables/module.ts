import type { TablesModule } from "@reins/store";
import type { ApprovalChanges, ApprovalQueries } from "../tables.ts";
import { approvalChanges, approvalQueries, pruneChanges } from "./approval-rows.ts";
import {
  changeQueries,
  deliveryChanges,
  deliveryQueries,
  grantChanges,
  grantQueries,
  sealedChanges,
  sealedQueries,
} from "./change-rows.ts";

/**
 * The tables of approvals. `body` is JSON of what never changes, without its secrets, and `sealed` the exact form of it
 * as long as it is needed; the columns beside them are what is searched or changes.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE approvals (
     place INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     tenant TEXT NOT NULL,
     session TEXT NOT NULL,
     turn TEXT,
     binding TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'withdrawn', 'used')),
     answers TEXT NOT NULL,
     expires_at TEXT NOT NULL,
     body TEXT NOT NULL,
     sealed TEXT,
     entry TEXT NOT NULL UNIQUE,
     version INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX approvals_one_open ON approvals (tenant, binding) WHERE state IN ('pending', 'approved');
   CREATE INDEX approvals_open_by_session ON approvals (tenant, session) WHERE state IN ('pending', 'approved');
   CREATE INDEX approvals_open_by_end ON approvals (expires_at) WHERE state IN ('pending', 'approved');
   CREATE INDEX approvals_by_binding ON approvals (tenant, binding, place);
   CREATE INDEX approvals_by_tenant ON approvals (tenant, place);
   CREATE INDEX approvals_by_state ON approvals (tenant, state, place);
   CREATE INDEX approvals_by_session ON approvals (tenant, session, place);
   CREATE TABLE approval_changes (
     seq INTEGER PRIMARY KEY,
     approval TEXT NOT NULL REFERENCES approvals (id),
     tenant TEXT NOT NULL,
     state TEXT NOT NULL,
     answers TEXT NOT NULL,
     entry TEXT NOT NULL UNIQUE,
     at TEXT NOT NULL
   ) STRICT;
   CREATE INDEX approval_changes_by_tenant ON approval_changes (tenant, seq);
   CREATE TABLE approval_grants (
     place INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     tenant TEXT NOT NULL,
     user TEXT NOT NULL,
     agent TEXT NOT NULL,
     binding TEXT NOT NULL,
     expires_at TEXT,
     revoked_at TEXT,
     revoked_by TEXT,
     uses INTEGER NOT NULL DEFAULT 0,
     used_at TEXT,
     body TEXT NOT NULL,
     sealed TEXT
   ) STRICT;
   CREATE UNIQUE INDEX approval_grants_one ON approval_grants (binding) WHERE revoked_at IS NULL;
   CREATE INDEX approval_grants_by_tenant ON approval_grants (tenant, place);
   CREATE TABLE approval_deliveries (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     webhook TEXT NOT NULL,
     change INTEGER NOT NULL REFERENCES approval_changes (seq),
     tenant TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('waiting', 'dead')),
     attempts INTEGER NOT NULL DEFAULT 0,
     due_at TEXT NOT NULL,
     error TEXT
   ) STRICT;
   CREATE INDEX approval_deliveries_by_webhook ON approval_deliveries (webhook, state, due_at);
   CREATE INDEX approval_changes_by_approval ON approval_changes (approval);
   CREATE INDEX approval_deliveries_by_change ON approval_deliveries (change);
   CREATE INDEX approvals_over_by_end ON approvals (expires_at) WHERE state NOT IN ('pending', 'approved')`,
];

/** Approvals inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  announces: ["ask", "move", "use"],
  open(database) {
    const changes: ApprovalChanges = {
      ...approvalChanges(database),
      ...grantChanges(database),
      ...deliveryChanges(database),
      ...pruneChanges(database),
      ...sealedChanges(database),
    };
    const queries: ApprovalQueries = {
      ...approvalQueries(database),
      ...changeQueries(database),
      ...grantQueries(database),
      ...deliveryQueries(database),
      ...sealedQueries(database),
    };
    return { changes, queries };
  },
};

export default module;
