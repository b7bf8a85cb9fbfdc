import type { Database, Statement } from "@reins/store";
import type { StoredChild } from "../delegation.ts";
import type { StoredToken } from "../tokens.ts";
import type { StoredUser } from "../users.ts";
import type { Delta, IdentityQueries, Tenant } from "./tables.ts";

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

/** A row of what is stored: lists as JSON, and what is missing as null. */
type RowOf<Stored> = {
  readonly [Name in keyof Stored]: Stored[Name] extends readonly string[]
    ? string
    : undefined extends Stored[Name]
      ? Exclude<Stored[Name], undefined> | null
      : Stored[Name];
};
type UserRow = RowOf<StoredUser>;
type TokenRow = RowOf<StoredToken>;
type ChildRow = RowOf<StoredChild>;

function userIn({ roles, scopes, removed, ...row }: UserRow): StoredUser {
  return { ...row, roles: JSON.parse(roles), scopes: JSON.parse(scopes), removed: removed ?? undefined };
}

/** A kind or start that this version does not know counts as the one with the fewest rights. */
function tokenIn(stored: TokenRow): StoredToken {
  const { kind, started, role, scopes, agents, expires, revoked, origin, issued, ...row } = stored;
  return {
    ...row,
    ...(origin !== null && { origin }),
    ...(issued !== null && { issued }),
    kind: kind === "user" || kind === "service" ? kind : "agent",
    started:
      started === "interactive" || started === "background" || started === "api" ? started : "sub-agent",
    scopes: JSON.parse(scopes),
    agents: JSON.parse(agents),
    ...{ role: role ?? undefined, expires: expires ?? undefined, revoked: revoked ?? undefined },
  };
}

function childIn({ chain, scopes, revoked, ...row }: ChildRow): StoredChild {
  return { ...row, chain: JSON.parse(chain), scopes: JSON.parse(scopes), revoked: revoked ?? undefined };
}

interface VersionRow {
  readonly version: number;
}

/** Counts the changes and finds the rows they touched. */
export class Versions {
  readonly #current: Statement<VersionRow>;
  readonly #raise: Statement<VersionRow>;
  readonly #users: Statement<UserRow>;
  readonly #tokens: Statement<TokenRow>;
  readonly #children: Statement<ChildRow>;

  constructor(database: Database) {
    this.#current = database.prepare("SELECT version FROM identity_meta");
    this.#raise = database.prepare("UPDATE identity_meta SET version = version + 1 RETURNING version");
    // A reader that starts from nothing does not need removed rows.
    const newer = <Row>(table: string, gone: string) =>
      database.prepare<Row>(
        `SELECT * FROM ${table} WHERE changed > @after AND (@after > 0 OR ${gone} IS NULL)`,
      );
    this.#users = newer("identity_users", "removed");
    this.#tokens = newer("identity_tokens", "revoked");
    this.#children = newer("identity_children", "revoked");
  }

  /** Everything that changed after a version. */
  since(after: number): Delta {
    return {
      after,
      version: this.#current.get()?.version ?? 0,
      users: this.#users.all({ after }).map(userIn),
      tokens: this.#tokens.all({ after }).map(tokenIn),
      children: this.#children.all({ after }).map(childIn),
    };
  }

  /** Makes a change under the next version; returns the rows it touched. */
  step(run: (version: number) => void): Delta {
    const version = this.#raise.get()?.version ?? 0;
    run(version);
    return this.since(version - 1);
  }
}

/** The longest list that a query returns. */
const LONGEST_LIST = 10_000;

/** Prepares the queries of identity on an open database. */
export function openQueries(database: Database, versions: Versions): IdentityQueries {
  const key = database.prepare<{ readonly hash_key: Uint8Array }>("SELECT hash_key FROM identity_meta");
  const tenants = database.prepare<Tenant>(
    `SELECT id, created FROM identity_tenants WHERE removed IS NULL ORDER BY id LIMIT ${LONGEST_LIST}`,
  );
  const everyTenant = database.prepare<Pick<Tenant, "id">>("SELECT id FROM identity_tenants");
  const users = database.prepare<UserRow>(
    `SELECT * FROM identity_users WHERE tenant = @tenant AND removed IS NULL ORDER BY id LIMIT ${LONGEST_LIST}`,
  );
  const user = database.prepare<UserRow>("SELECT * FROM identity_users WHERE tenant = @tenant AND id = @id");
  const tokens = database.prepare<TokenRow>(
    `SELECT * FROM identity_tokens WHERE tenant = @tenant ORDER BY created DESC, id LIMIT ${LONGEST_LIST}`,
  );
  const token = database.prepare<TokenRow>(
    "SELECT * FROM identity_tokens WHERE id = @id AND (@tenant IS NULL OR tenant = @tenant)",
  );
  const children = database.prepare<ChildRow>(
    `SELECT * FROM identity_children WHERE tenant = @tenant AND revoked IS NULL AND expires > @at
     ORDER BY created DESC, session_id LIMIT ${LONGEST_LIST}`,
  );
  const reach = database.prepare<{ readonly live: number }>(
    `${SESSION_AND_BELOW} SELECT count(*) AS live FROM identity_children
     WHERE session_id IN (SELECT session_id FROM below) AND revoked IS NULL AND expires > @at`,
  );
  return {
    hashKey() {
      const row = key.get();
      if (!row) throw new TypeError("the tables of identity have no key");
      return row.hash_key;
    },
    since: ({ version }) => versions.since(version),
    tenants: () => tenants.all(),
    everyTenant: () => everyTenant.all().map(({ id }) => id),
    users: (args) => users.all(args).map(userIn),
    user(args) {
      const row = user.get(args);
      return row && userIn(row);
    },
    tokens: (args) => tokens.all(args).map(tokenIn),
    token({ tenant = null, id }) {
      const row = token.get({ tenant, id });
      return row && tokenIn(row);
    },
    children: (args) => children.all(args).map(childIn),
    reach: ({ tenant, session, principal = null, at }) =>
      reach.get({ tenant, session, principal, at })?.live ?? 0,
  };
}
