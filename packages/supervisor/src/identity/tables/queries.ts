import type { Database } from "@reins/store";
import { childIn, tokenIn, userIn } from "./records.ts";
import { Row } from "./row.ts";
import { SESSION_AND_BELOW } from "./session-tree.ts";
import type { IdentityQueries } from "./tables.ts";
import type { Versions } from "./versions.ts";

/** The most that a list gives. */
const LONGEST_LIST = 10_000;

/** Prepares the queries of identity on an open database. */
export function openQueries(database: Database, versions: Versions): IdentityQueries {
  const key = database.prepare("SELECT hash_key FROM identity_meta");
  const tenants = database.prepare(
    `SELECT id, created FROM identity_tenants WHERE removed IS NULL ORDER BY id LIMIT ${LONGEST_LIST}`,
  );
  const users = database.prepare(
    `SELECT * FROM identity_users WHERE tenant = @tenant AND removed IS NULL ORDER BY id LIMIT ${LONGEST_LIST}`,
  );
  const user = database.prepare("SELECT * FROM identity_users WHERE tenant = @tenant AND id = @id");
  const tokens = database.prepare(
    `SELECT * FROM identity_tokens WHERE tenant = @tenant ORDER BY created DESC, id LIMIT ${LONGEST_LIST}`,
  );
  const token = database.prepare(
    "SELECT * FROM identity_tokens WHERE id = @id AND (@tenant IS NULL OR tenant = @tenant)",
  );
  const children = database.prepare(
    `SELECT * FROM identity_children WHERE tenant = @tenant AND revoked IS NULL AND expires > @at
     ORDER BY created DESC, session_id LIMIT ${LONGEST_LIST}`,
  );
  const reach = database.prepare(
    `${SESSION_AND_BELOW} SELECT count(*) AS live FROM identity_children
     WHERE session_id IN (SELECT session_id FROM below) AND revoked IS NULL AND expires > @at`,
  );
  return {
    hashKey: () => new Row(key.get()).bytes("hash_key"),
    since: ({ version }) => versions.since(version),
    tenants: () => tenants.all().map(tenantIn),
    users: (args) => users.all(args).map(userIn),
    user: (args) => found(user.get(args), userIn),
    tokens: (args) => tokens.all(args).map(tokenIn),
    token: ({ tenant = null, id }) => found(token.get({ tenant, id }), tokenIn),
    children: (args) => children.all(args).map(childIn),
    reach: ({ tenant, session, principal = null, at }) =>
      new Row(reach.get({ tenant, session, principal, at })).number("live"),
  };
}

function found<Found>(row: unknown, read: (row: unknown) => Found): Found | undefined {
  return row === undefined ? undefined : read(row);
}

function tenantIn(given: unknown) {
  const row = new Row(given);
  return { id: row.text("id"), created: row.text("created") };
}
