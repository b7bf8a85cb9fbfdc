import type { Started } from "@reins/policy";
import type { Database, Statement } from "@reins/store";
import type { StoredChild } from "../delegation.ts";
import type { PrincipalKind } from "../principal.ts";
import type { StoredToken } from "../tokens.ts";
import type { StoredUser } from "../users.ts";
import type { Delta, IdentityQueries } from "./tables.ts";

/** The child sessions that a session is or that were begun from it, of one principal unless `@principal` is null. */
export const SESSION_AND_BELOW = `
  WITH RECURSIVE below (session_id) AS (
    SELECT session_id FROM identity_children
      WHERE tenant = @tenant AND (session_id = @session OR parent = @session)
        AND (@principal IS NULL OR principal = @principal)
    UNION
    SELECT c.session_id FROM identity_children c JOIN below ON c.parent = below.session_id
      WHERE c.tenant = @tenant AND (@principal IS NULL OR c.principal = @principal)
  )`;

/** Counts the changes and finds what they touched. */
export class Versions {
  readonly #current: Statement;
  readonly #raise: Statement;
  readonly #users: Statement;
  readonly #tokens: Statement;
  readonly #children: Statement;

  constructor(database: Database) {
    this.#current = database.prepare("SELECT version FROM identity_meta");
    this.#raise = database.prepare("UPDATE identity_meta SET version = version + 1 RETURNING version");
    // A reader that starts from nothing does not need removed rows.
    const newer = (table: string, gone: string): Statement =>
      database.prepare(`SELECT * FROM ${table} WHERE changed > @after AND (@after > 0 OR ${gone} IS NULL)`);
    this.#users = newer("identity_users", "removed");
    this.#tokens = newer("identity_tokens", "revoked");
    this.#children = newer("identity_children", "revoked");
  }

  /** Everything that changed after a version. */
  since(after: number): Delta {
    return {
      after,
      version: new Row(this.#current.get()).number("version"),
      users: this.#users.all({ after }).map(userIn),
      tokens: this.#tokens.all({ after }).map(tokenIn),
      children: this.#children.all({ after }).map(childIn),
    };
  }

  /** Makes a change under the next version, and tells what it touched. */
  step(run: (version: number) => void): Delta {
    const version = new Row(this.#raise.get()).number("version");
    run(version);
    return this.since(version - 1);
  }
}

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

/** A row of the database, column by column. */
export class Row {
  readonly #columns: ReadonlyMap<string, unknown>;

  constructor(row: unknown) {
    this.#columns = new Map(typeof row === "object" && row !== null ? Object.entries(row) : []);
  }

  text(column: string): string {
    return String(this.#columns.get(column));
  }

  optional(column: string): string | undefined {
    return this.#columns.get(column) === null ? undefined : this.text(column);
  }

  number(column: string): number {
    return Number(this.#columns.get(column) ?? 0);
  }

  list(column: string): readonly string[] {
    const list: unknown = JSON.parse(this.text(column));
    return Array.isArray(list) ? list.map(String) : [];
  }

  bytes(column: string): Uint8Array {
    const bytes = this.#columns.get(column);
    if (bytes instanceof Uint8Array) return bytes;
    throw new TypeError(`the column ${column} holds no bytes`);
  }
}

const STARTED: ReadonlyMap<string, Started> = new Map([
  ["interactive", "interactive"],
  ["background", "background"],
  ["api", "api"],
]);
const KINDS: ReadonlyMap<string, PrincipalKind> = new Map([
  ["user", "user"],
  ["service", "service"],
]);

/** The user of a row. */
function userIn(given: unknown): StoredUser {
  const row = new Row(given);
  return {
    id: row.text("id"),
    tenant: row.text("tenant"),
    name: row.text("name"),
    email: row.text("email"),
    roles: row.list("roles"),
    scopes: row.list("scopes"),
    created: row.text("created"),
    removed: row.optional("removed"),
    changed: row.number("changed"),
  };
}

/** The token of a row. A kind or start we do not know counts as the one that may least. */
function tokenIn(given: unknown): StoredToken {
  const row = new Row(given);
  return {
    id: row.text("id"),
    user: row.text("user"),
    tenant: row.text("tenant"),
    kind: KINDS.get(row.text("kind")) ?? "agent",
    role: row.optional("role"),
    scopes: row.list("scopes"),
    agents: row.list("agents"),
    started: STARTED.get(row.text("started")) ?? "sub-agent",
    created: row.text("created"),
    expires: row.optional("expires"),
    revoked: row.optional("revoked"),
    hash: row.text("hash"),
    changed: row.number("changed"),
  };
}

/** The child session of a row. */
function childIn(given: unknown): StoredChild {
  const row = new Row(given);
  return {
    session_id: row.text("session_id"),
    tenant: row.text("tenant"),
    user: row.text("user"),
    principal: row.text("principal"),
    parent: row.text("parent"),
    agent: row.text("agent"),
    chain: row.list("chain"),
    depth: row.number("depth"),
    scopes: row.list("scopes"),
    task: row.text("task"),
    created: row.text("created"),
    expires: row.text("expires"),
    hash: row.text("hash"),
    revoked: row.optional("revoked"),
    changed: row.number("changed"),
  };
}
