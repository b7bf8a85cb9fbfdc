import type { TablesModule } from "@reins/store";
import type { ApprovalChanges, ApprovalQueries } from "../tables.ts";
import { approvalChanges, approvalQueries } from "./approval-rows.ts";
import { changeQueries } from "./change-rows.ts";
import { deliveryChanges, deliveryQueries } from "./delivery-rows.ts";
import { grantChanges, grantQueries } from "./grant-rows.ts";
import { pruneChanges } from "./prune-rows.ts";
import { MIGRATIONS } from "./schema.ts";
import { sealedChanges, sealedQueries } from "./sealed-rows.ts";

/** Approvals inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
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
