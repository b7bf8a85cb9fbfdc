import type { Database } from "@reins/store";
import { z } from "zod";
import type { Approval, ApprovalState } from "../approval.ts";
import type { ApprovalChanges, ApprovalQueries, Notice, StoredChange } from "../tables.ts";
import { DELIVERY_STATES, type Delivery } from "../webhooks/delivery.ts";
import { KEPT_COLUMNS, pageSize, storedIn } from "./rows.ts";

/** A change about to be written. */
interface NewChange {
  readonly approval: Pick<Approval, "id" | "tenant">;
  readonly state: ApprovalState;
  readonly answers: string;
  readonly entry: string;
  readonly notice: Notice;
}

/** The columns of a change, beside those of the approval it belongs to. */
const CHANGE_COLUMNS = `c.seq, c.at, c.entry AS change_entry, c.state, c.answers, ${KEPT_COLUMNS}`;

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
function changeIn(row: unknown): StoredChange {
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

const DeliveryRow = z.object({
  delivery: z.number(),
  webhook: z.string(),
  delivery_state: z.enum(DELIVERY_STATES),
  attempts: z.number(),
  due_at: z.string(),
  error: z.string().nullable(),
});

const SELECT = `SELECT d.id AS delivery, d.webhook, d.state AS delivery_state, d.attempts, d.due_at, d.error, ${CHANGE_COLUMNS}
  FROM approval_deliveries d JOIN approval_changes c ON c.seq = d.change JOIN approvals a ON a.id = c.approval`;

/** The changes of deliveries. */
export function deliveryChanges(
  database: Database,
): Pick<ApprovalChanges, "delivered" | "failed" | "trimDeliveries" | "abandon"> {
  const remove = database.prepare("DELETE FROM approval_deliveries WHERE id = ?");
  const postpone = database.prepare(
    "UPDATE approval_deliveries SET attempts = ?, error = ?, due_at = ? WHERE id = ?",
  );
  // What follows of the same approval waits as long, or it would overtake.
  const postponeLater = database.prepare(
    `UPDATE approval_deliveries SET due_at = max(due_at, @due_at) FROM (
       SELECT later.id AS later_id FROM approval_deliveries d JOIN approval_changes c ON c.seq = d.change
         JOIN approval_changes next ON next.approval = c.approval AND next.seq > c.seq
         JOIN approval_deliveries later ON later.change = next.seq AND later.webhook = d.webhook
       WHERE d.id = @id)
     WHERE id = later_id AND state = 'waiting'`,
  );
  const trim = database.prepare(
    `UPDATE approval_deliveries SET state = 'dead', error = 'too many deliveries wait for this webhook'
     WHERE webhook = @webhook AND state = 'waiting' AND id <= (
       SELECT id FROM approval_deliveries WHERE webhook = @webhook AND state = 'waiting'
       ORDER BY id DESC LIMIT 1 OFFSET @most)`,
  );
  const bury = database.prepare(
    "UPDATE approval_deliveries SET attempts = ?, error = ?, state = 'dead' WHERE id = ?",
  );
  const abandon = database.prepare(
    `UPDATE approval_deliveries SET state = 'dead', error = 'this webhook is no longer there'
     WHERE state = 'waiting' AND NOT EXISTS (SELECT 1 FROM json_each(?) w WHERE w.value ->> 'name' = webhook
       AND coalesce(w.value ->> 'tenant', approval_deliveries.tenant) = approval_deliveries.tenant)`,
  );
  return {
    delivered: ({ id }) => void remove.run(id),
    failed: ({ id, attempts, error, due_at }) => {
      if (due_at === undefined) return void bury.run(attempts, error, id);
      postpone.run(attempts, error, due_at, id);
      postponeLater.run({ id, due_at });
    },
    trimDeliveries: (given) => trim.run(given).changes,
    abandon: ({ webhooks }) => void abandon.run(JSON.stringify(webhooks)),
  };
}

/** The queries of deliveries. */
export function deliveryQueries(database: Database): Pick<ApprovalQueries, "nextDelivery" | "deliveries"> {
  const next = database.prepare(
    `${SELECT} WHERE d.webhook = ? AND d.state = 'waiting' ORDER BY d.due_at, d.id LIMIT 1`,
  );
  const afterLatest = database.prepare(
    `${SELECT} WHERE d.webhook = ? AND d.state = 'waiting' AND d.due_at > ? ORDER BY d.due_at, d.id LIMIT 1`,
  );
  const list = database.prepare(
    `${SELECT} WHERE (? IS NULL OR d.tenant = ?) AND (? IS NULL OR d.webhook = ?) AND (? IS NULL OR d.state = ?)
     AND d.id > ? ORDER BY d.id LIMIT ?`,
  );
  return {
    nextDelivery: ({ webhook, latest }) => deliveryIn(afterLatest.get(webhook, latest) ?? next.get(webhook)),
    deliveries: ({ tenant = null, webhook = null, state = null, after = 0, limit }) =>
      list
        .all(tenant, tenant, webhook, webhook, state, state, after, pageSize(limit))
        .flatMap((row) => deliveryIn(row) ?? []),
  };
}

function deliveryIn(row: unknown): Delivery | undefined {
  if (row === undefined) return undefined;
  const { delivery, webhook, delivery_state, attempts, due_at, error } = DeliveryRow.parse(row);
  const { seq, at, entry, stored } = changeIn(row);
  return {
    id: delivery,
    webhook,
    state: delivery_state,
    attempts,
    due_at,
    ...(error !== null && { error }),
    change: { seq, at, entry, approval: stored.approval },
  };
}
