import { type Database, StoreError } from "@reins/store";
import { z } from "zod";
import type { Grant } from "../grants.ts";
import type { ApprovalChanges, ApprovalQueries, NewGrant, StoredGrant } from "../tables.ts";
import { pageSize } from "./rows.ts";

/** What never changes in a grant, as it is kept. */
type GrantBody = Omit<Grant, "revoked_at" | "revoked_by" | "uses" | "used_at">;

const GrantRow = z.object({
  body: z.string(),
  sealed: z.string().nullable(),
  revoked_at: z.string().nullable(),
  revoked_by: z.string().nullable(),
  uses: z.number(),
  used_at: z.string().nullable(),
});

const SELECT = `SELECT ${Object.keys(GrantRow.shape).join(", ")} FROM approval_grants`;
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
  const get = database.prepare(`${SELECT} WHERE id = ? AND tenant = ?`);
  const standing = database.prepare(`${SELECT} WHERE binding = ? AND revoked_at IS NULL`);
  const list = database.prepare(
    `${SELECT} WHERE tenant = ? AND (? IS NULL OR user = ?) AND (? IS NULL OR agent = ?)
     AND (? IS NULL OR place > (SELECT place FROM approval_grants WHERE id = ? AND tenant = ?)) ORDER BY place LIMIT ?`,
  );
  return {
    grant: ({ id, tenant }) => grantIn(get.get(id, tenant)),
    grantFor: ({ binding }) => grantIn(standing.get(binding)),
    grants: ({ tenant, user = null, agent = null, after = null, limit }) =>
      list
        .all(tenant, user, user, agent, agent, after, after, tenant, pageSize(limit))
        .flatMap((row) => grantIn(row) ?? []),
  };
}

function grantIn(row: unknown): StoredGrant | undefined {
  if (row === undefined) return undefined;
  const { body, sealed, revoked_at, revoked_by, uses, used_at } = GrantRow.parse(row);
  const content: GrantBody = JSON.parse(body);
  const grant: Grant = {
    ...content,
    ...(revoked_at !== null && { revoked_at }),
    ...(revoked_by !== null && { revoked_by }),
    uses,
    ...(used_at !== null && { used_at }),
  };
  return { grant, ...(sealed !== null && { sealed }) };
}

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
