import type { Started } from "@reins/policy";
import type { StoredChild } from "../delegation.ts";
import type { PrincipalKind } from "../principal.ts";
import type { StoredToken } from "../tokens.ts";
import type { StoredUser } from "../users.ts";

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
export function userIn(given: unknown): StoredUser {
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
export function tokenIn(given: unknown): StoredToken {
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
export function childIn(given: unknown): StoredChild {
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
