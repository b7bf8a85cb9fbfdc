import type { Database } from "@reins/store";
import { z } from "zod";
import type { Approval, ApprovalState } from "../approval.ts";
import type { ApprovalQueries, Notice, StoredChange } from "../tables.ts";
import { KEPT_COLUMNS, storedIn } from "./approval-row.ts";
import { pageSize } from "./page-size.ts";

/** A change about to be written. */
interface NewChange {
  readonly approval: Pick<Approval, "id" | "tenant">;
  readonly state: ApprovalState;
  readonly answers: string;
  readonly entry: string;
  readonly notice: Notice;
}

/** The columns of a change, beside those of the approval it belongs to. */
export const CHANGE_COLUMNS = `c.seq, c.at, c.entry AS change_entry, c.state, c.answers, ${KEPT_COLUMNS}`;

const ChangeRow = z.object({ seq: z.number(), at: z.string(), change_entry: z.string() });

/** Writes changes, and what is to be delivered of each. */
export function changeWriter(database: Database): (change: NewChange) => void {
  const insert = database.prepare(
    "INSERT INTO approval_changes (approval, tenant, state, answers, entry, at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const deliver = database.prepare(
    // Not due before what waits of the same approval: a receiver gets the steps of one in their order.
    `INSERT INTO approval_deliveries (webhook, change, tenant, state, due_at)
     VALUES (@webhook, @change, @tenant, 'waiting', max(@at, coalesce(
       (SELECT max(d.due_at) FROM approval_changes c JOIN approval_deliveries d ON d.change = c.seq
        WHERE c.approval = @id AND d.webhook = @webhook AND d.state = 'waiting'), @at)))`,
  );
  return ({ approval: { id, tenant }, state, answers, entry, notice: { at, webhooks } }) => {
    const { lastInsertRowid } = insert.run(id, tenant, state, answers, entry, at);
    for (const webhook of webhooks) deliver.run({ webhook, change: lastInsertRowid, tenant, at, id });
  };
}

/** The change in a row. */
export function changeIn(row: unknown): StoredChange {
  const { seq, at, change_entry } = ChangeRow.parse(row);
  return { seq, at, entry: change_entry, stored: storedIn(row) };
}

/** The queries of changes. */
export function changeQueries(database: Database): Pick<ApprovalQueries, "changes" | "lastChange"> {
  const select = `SELECT ${CHANGE_COLUMNS} FROM approval_changes c JOIN approvals a ON a.id = c.approval`;
  const every = database.prepare(`${select} WHERE c.seq > ? ORDER BY c.seq LIMIT ?`);
  const ofTenant = database.prepare(`${select} WHERE c.tenant = ? AND c.seq > ? ORDER BY c.seq LIMIT ?`);
  const last = database.prepare("SELECT coalesce(max(seq), 0) AS last FROM approval_changes");
  return {
    changes: ({ after, limit, tenant }) =>
      (tenant === undefined
        ? every.all(after, pageSize(limit))
        : ofTenant.all(tenant, after, pageSize(limit))
      ).map(changeIn),
    lastChange: () => z.object({ last: z.number() }).parse(last.get()).last,
  };
}
