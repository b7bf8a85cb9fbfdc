import type { Database } from "@reins/store";
import { z } from "zod";
import type { ApprovalChanges } from "../tables.ts";

const Row = z.object({ id: z.string() });

/**
 * Forgets approvals that ended before an instant and count for nothing any more, with their changes and the deliveries
 * that were given up. The newest change stays, because the next one is numbered after it.
 */
export function pruneChanges(database: Database): Pick<ApprovalChanges, "prune"> {
  const old = database.prepare(
    `SELECT a.id FROM approvals a
     WHERE a.state IN ('denied', 'expired', 'withdrawn', 'used') AND a.expires_at <= @before
       AND NOT EXISTS (SELECT 1 FROM approval_changes c WHERE c.approval = a.id
         AND (c.at > @before OR c.seq = (SELECT max(seq) FROM approval_changes)
           OR EXISTS (SELECT 1 FROM approval_deliveries d WHERE d.change = c.seq AND d.state = 'waiting')))
     ORDER BY a.place LIMIT @limit`,
  );
  const removals = [
    "DELETE FROM approval_deliveries WHERE change IN (SELECT seq FROM approval_changes WHERE approval = ?)",
    "DELETE FROM approval_changes WHERE approval = ?",
    "DELETE FROM approvals WHERE id = ?",
  ].map((sql) => database.prepare(sql));
  return {
    prune: ({ before, limit }) => {
      const ids = old.all({ before, limit }).map((row) => Row.parse(row).id);
      for (const id of ids) for (const remove of removals) remove.run(id);
      return ids.length;
    },
  };
}
