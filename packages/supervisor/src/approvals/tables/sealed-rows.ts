import type { Database } from "@reins/store";
import { z } from "zod";
import type { ApprovalChanges, ApprovalQueries } from "../tables.ts";

const Count = z.object({ key: z.string(), count: z.number() });
const Row = z.object({
  kind: z.enum(["approval", "grant"]),
  id: z.string(),
  binding: z.string(),
  sealed: z.string(),
});

/** What is sealed. A sealed text says with which key: `v1.<key>.…` */
const SEALED = `SELECT 'approval' AS kind, id, binding, sealed, substr(sealed, 4, 8) AS key FROM approvals
    WHERE state IN ('pending', 'approved') AND sealed IS NOT NULL
  UNION ALL SELECT 'grant', id, binding, sealed, substr(sealed, 4, 8) FROM approval_grants
    WHERE revoked_at IS NULL AND sealed IS NOT NULL`;

/** The change by which something is sealed with another key. */
export function sealedChanges(database: Database): Pick<ApprovalChanges, "renewSeal"> {
  const renew = {
    approval: database.prepare("UPDATE approvals SET sealed = ? WHERE id = ? AND sealed IS NOT NULL"),
    grant: database.prepare("UPDATE approval_grants SET sealed = ? WHERE id = ? AND sealed IS NOT NULL"),
  };
  return { renewSeal: ({ kind, id, sealed }) => void renew[kind].run(sealed, id) };
}

/** The queries about what is sealed. */
export function sealedQueries(database: Database): Pick<ApprovalQueries, "sealedWith" | "sealedWithKeys"> {
  const counts = database.prepare(`SELECT key, count(*) AS count FROM (${SEALED}) GROUP BY key`);
  const rows = database.prepare(
    `SELECT kind, id, binding, sealed FROM (${SEALED})
     WHERE id > ? AND key IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
  );
  return {
    sealedWith: () => counts.all().map((row) => Count.parse(row)),
    sealedWithKeys: ({ keys, after, limit }) =>
      rows.all(after, JSON.stringify(keys), limit).map((row) => Row.parse(row)),
  };
}
