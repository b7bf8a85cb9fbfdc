import { type Database, parseStored, StoreError } from "@reins/store";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalState,
  approvalTag,
  type Delivery,
  type DeliveryState,
} from "../approval.ts";
import type { Grant } from "../grants.ts";
import type {
  ApprovalChanges,
  ApprovalQueries,
  NewGrant,
  Notice,
  SealedCount,
  SealedRow,
  StoredApproval,
  StoredChange,
  StoredGrant,
} from "../tables.ts";

const DEFAULT = 100;

const MOST = 1_000;

/** How many rows a page has, given what was asked for. */
export function pageSize(limit = DEFAULT): number {
  return Math.max(1, Math.min(Math.trunc(limit) || DEFAULT, MOST));
}

/** What never changes in an approval, as it is kept. */
type ApprovalBody = Omit<Approval, "turn" | "state" | "answers" | "entry">;

/** The columns of an approval that are read. */
export interface ApprovalRow {
  readonly turn: string | null;
  readonly state: ApprovalState;
  readonly answers: string;
  readonly body: string;
  readonly entry: string;
  readonly version: number;
  readonly sealed: string | null;
  readonly waits: number;
}

/** The columns to read beside `state` and `answers`, which a change has its own of. */
export const KEPT_COLUMNS = "a.turn, a.body, a.entry, a.version, a.sealed, a.state = 'pending' AS waits";

/** The approval in a row. */
export function storedIn(row: ApprovalRow): StoredApproval {
  const { turn, state, answers, body, entry, version, sealed, waits } = row;
  const content = parseStored<ApprovalBody>(body);
  const given = parseStored<ApprovalAnswer[]>(answers);
  const approval = { ...content, ...(turn !== null && { turn }), state, answers: given, entry };
  return { approval, version, waits: waits === 1, ...(sealed !== null && { sealed }) };
}

/** The most entries that one commit adds; what it added is looked through one by one, the ledger's index is behind. */
const MOST_IN_COMMIT = 1_024;

/** Where a commit leaves its entries: in the ledger, or, where several nodes write, before it. */
const NEWEST = {
  alone: `SELECT e.cid, e.quality, r.body FROM ledger_recent r JOIN ledger_entries e ON e.seq = r.seq
    WHERE e.seq > (SELECT max(seq) FROM ledger_entries) - ${MOST_IN_COMMIT} ORDER BY e.seq DESC`,
  shared: `SELECT i.cid, i.quality, i.excerpt AS body FROM ledger_intake i
    WHERE i.place > (SELECT max(place) FROM ledger_intake) - ${MOST_IN_COMMIT} ORDER BY i.place DESC`,
} as const;

/**
 * Finds, inside a commit, the entry that records a change of an approval: the newest with its tag, which records no
 * earlier change. A change that is not on the record, or is there as something else, undoes the commit.
 */
export function entryFinder(database: Database) {
  const newest = database.prepare<Recorded>(
    `SELECT n.cid, n.quality, json_extract(n.body, '$.payload.state') AS state,
       json_extract(n.body, '$.payload.verdict') AS verdict
     FROM (${NEWEST[database.isShared ? "shared" : "alone"]}) n
     WHERE EXISTS (SELECT 1 FROM json_each(n.body, '$.tags') WHERE value = ?) LIMIT 1`,
  );
  const earlier = database.prepare("SELECT 1 FROM approval_changes WHERE entry = ?");
  return (id: string, state: ApprovalState): string => {
    const found = newest.get(approvalTag(id));
    if (found && records(found, state) && !earlier.get(found.cid)) return found.cid;
    const text = `no entry of this commit records that the approval ${id} is ${state}; it needs the tag ${approvalTag(id)}`;
    throw new StoreError("invalid", text);
  };
}

/** A use is recorded by the verdict that allows something, everything else by an entry that names the state. */
function records({ quality, state, verdict }: Recorded, becomes: ApprovalState): boolean {
  if (becomes !== "used") return quality === "approval" && state === becomes;
  return quality === "policy_verdict" && (verdict === "allowed" || verdict === "modify");
}

/** An entry of the ledger. */
interface Recorded {
  readonly cid: string;
  readonly quality: string;
  readonly state: string | null;
  readonly verdict: string | null;
}

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

interface ChangeRow extends ApprovalRow {
  readonly seq: number;
  readonly at: string;
  readonly change_entry: string;
}

/** Writes changes, and what is to be delivered of each. */
export function changeWriter(database: Database): (change: NewChange) => void {
  const insert = database.prepare<{ readonly seq: number }>(
    "INSERT INTO approval_changes (approval, tenant, state, answers, entry, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING seq",
  );
  const deliver = database.prepare(
    // Not due before what waits of the same approval: a receiver gets the steps of one in their order.
    `INSERT INTO approval_deliveries (webhook, change, tenant, state, due_at)
     VALUES (@webhook, @change, @tenant, 'waiting', max(@at, coalesce(
       (SELECT max(d.due_at) FROM approval_changes c JOIN approval_deliveries d ON d.change = c.seq
        WHERE c.approval = @id AND d.webhook = @webhook AND d.state = 'waiting'), @at)))`,
  );
  return ({ approval: { id, tenant }, state, answers, entry, notice: { at, webhooks } }) => {
    const change = insert.get(id, tenant, state, answers, entry, at)?.seq;
    for (const webhook of webhooks) deliver.run({ webhook, change, tenant, at, id });
  };
}

/** The change in a row. */
function changeIn(row: ChangeRow): StoredChange {
  const { seq, at, change_entry } = row;
  return { seq, at, entry: change_entry, stored: storedIn(row) };
}

/** The queries of changes. */
export function changeQueries(database: Database): Pick<ApprovalQueries, "changes" | "lastChange"> {
  const select = `SELECT ${CHANGE_COLUMNS} FROM approval_changes c JOIN approvals a ON a.id = c.approval`;
  const every = database.prepare<ChangeRow>(`${select} WHERE c.seq > ? ORDER BY c.seq LIMIT ?`);
  const ofTenant = database.prepare<ChangeRow>(
    `${select} WHERE c.tenant = ? AND c.seq > ? ORDER BY c.seq LIMIT ?`,
  );
  const last = database.prepare<{ readonly last: number }>(
    "SELECT coalesce(max(seq), 0) AS last FROM approval_changes",
  );
  return {
    changes: ({ after, limit, tenant }) =>
      (tenant === undefined
        ? every.all(after, pageSize(limit))
        : ofTenant.all(tenant, after, pageSize(limit))
      ).map(changeIn),
    lastChange: () => last.get()?.last ?? 0,
  };
}

interface DeliveryRow extends ChangeRow {
  readonly delivery: number;
  readonly webhook: string;
  readonly delivery_state: DeliveryState;
  readonly attempts: number;
  readonly due_at: string;
  readonly error: string | null;
}

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
  const next = database.prepare<DeliveryRow>(
    `${SELECT} WHERE d.webhook = ? AND d.state = 'waiting' ORDER BY d.due_at, d.id LIMIT 1`,
  );
  const afterLatest = database.prepare<DeliveryRow>(
    `${SELECT} WHERE d.webhook = ? AND d.state = 'waiting' AND d.due_at > ? ORDER BY d.due_at, d.id LIMIT 1`,
  );
  const list = database.prepare<DeliveryRow>(
    `${SELECT} WHERE (? IS NULL OR d.tenant = ?) AND (? IS NULL OR d.webhook = ?) AND (? IS NULL OR d.state = ?)
     AND d.id > ? ORDER BY d.id LIMIT ?`,
  );
  return {
    nextDelivery({ webhook, latest }) {
      const row = afterLatest.get(webhook, latest) ?? next.get(webhook);
      return row && deliveryIn(row);
    },
    deliveries: ({ tenant = null, webhook = null, state = null, after = 0, limit }) =>
      list.all(tenant, tenant, webhook, webhook, state, state, after, pageSize(limit)).map(deliveryIn),
  };
}

function deliveryIn(row: DeliveryRow): Delivery {
  const { delivery: id, webhook, delivery_state: state, attempts, due_at, error } = row;
  const { stored, ...made } = changeIn(row);
  const change = { ...made, approval: stored.approval };
  return { id, webhook, state, attempts, due_at, ...(error !== null && { error }), change };
}

/** What never changes in a grant, as it is kept. */
type GrantBody = Omit<Grant, "revoked_at" | "revoked_by" | "uses" | "used_at">;

interface GrantRow {
  readonly body: string;
  readonly sealed: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
  readonly uses: number;
  readonly used_at: string | null;
}

const SELECT_GRANTS = "SELECT body, sealed, revoked_at, revoked_by, uses, used_at FROM approval_grants";
const IN_FORCE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)";

/** Keeps a grant, in place of one that has run out; one that is there already must still be in force. */
export function grantKeeper(database: Database): (grant: NewGrant, at: string) => void {
  const inForce = database.prepare(`SELECT 1 FROM approval_grants WHERE id = ? AND ${IN_FORCE}`);
  const known = database.prepare("SELECT 1 FROM approval_grants WHERE id = ?");
  const end = database.prepare(
    "UPDATE approval_grants SET revoked_at = expires_at, sealed = NULL WHERE binding = ? AND revoked_at IS NULL AND expires_at <= ?",
  );
  const insert = database.prepare(
    "INSERT INTO approval_grants (id, tenant, user, agent, binding, expires_at, body, sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  return (grant, at) => {
    if (inForce.get(grant.id, at)) return;
    if (known.get(grant.id)) throw new StoreError("conflict", `the grant ${grant.id} is no longer in force`);
    const { id, tenant, user, agent, binding, expires_at = null, form } = grant;
    end.run(binding, at);
    insert.run(id, tenant, user, agent, binding, expires_at, form.body, form.sealed);
  };
}

/** The changes of grants. */
export function grantChanges(database: Database): Pick<ApprovalChanges, "useGrant" | "revokeGrant"> {
  const use = database.prepare(
    `UPDATE approval_grants SET uses = uses + 1, used_at = ? WHERE id = ? AND ${IN_FORCE}`,
  );
  const revoke = database.prepare(
    "UPDATE approval_grants SET revoked_at = ?, revoked_by = ?, sealed = NULL WHERE id = ? AND revoked_at IS NULL",
  );
  const expectOne = (changes: number, id: string): undefined => {
    if (changes !== 1) throw new StoreError("conflict", `the grant ${id} is no longer in force`);
  };
  return {
    useGrant: ({ id, at }) => expectOne(use.run(at, id, at).changes, id),
    revokeGrant: ({ id, at, by }) => expectOne(revoke.run(at, by, id).changes, id),
  };
}

/** The queries of grants. */
export function grantQueries(database: Database): Pick<ApprovalQueries, "grant" | "grantFor" | "grants"> {
  const get = database.prepare<GrantRow>(`${SELECT_GRANTS} WHERE id = ? AND tenant = ?`);
  const standing = database.prepare<GrantRow>(`${SELECT_GRANTS} WHERE binding = ? AND revoked_at IS NULL`);
  const list = database.prepare<GrantRow>(
    `${SELECT_GRANTS} WHERE tenant = ? AND (? IS NULL OR user = ?) AND (? IS NULL OR agent = ?)
     AND (? IS NULL OR place > (SELECT place FROM approval_grants WHERE id = ? AND tenant = ?)) ORDER BY place LIMIT ?`,
  );
  const one = (row: GrantRow | undefined) => row && grantIn(row);
  return {
    grant: ({ id, tenant }) => one(get.get(id, tenant)),
    grantFor: ({ binding }) => one(standing.get(binding)),
    grants: ({ tenant, user = null, agent = null, after = null, limit }) =>
      list.all(tenant, user, user, agent, agent, after, after, tenant, pageSize(limit)).map(grantIn),
  };
}

function grantIn({ body, sealed, revoked_at, revoked_by, uses, used_at }: GrantRow): StoredGrant {
  const grant: Grant = {
    ...parseStored<GrantBody>(body),
    ...(revoked_at !== null && { revoked_at }),
    ...(revoked_by !== null && { revoked_by }),
    uses,
    ...(used_at !== null && { used_at }),
  };
  return { grant, ...(sealed !== null && { sealed }) };
}

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
  const counts = database.prepare<SealedCount>(`SELECT key, count(*) AS count FROM (${SEALED}) GROUP BY key`);
  const rows = database.prepare<SealedRow>(
    `SELECT kind, id, binding, sealed FROM (${SEALED})
     WHERE id > ? AND key IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
  );
  return {
    sealedWith: () => counts.all(),
    sealedWithKeys: ({ keys, after, limit }) => rows.all(after, JSON.stringify(keys), limit),
  };
}
