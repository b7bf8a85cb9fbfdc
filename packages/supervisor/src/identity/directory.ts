import { asChildSession, type ChildSession, type StoredChild } from "./delegation.ts";
import { isSameHash } from "./names.ts";
import { DEFAULT_TENANT, intersect, LOCAL, OPERATOR, type Principal } from "./principal.ts";
import type { Delta } from "./tables/tables.ts";
import type { StoredToken } from "./tokens.ts";
import type { StoredUser } from "./users.ts";

/**
 * Who is who, in memory: a copy of the tables that answers at once. Of two states of one row the newer counts, however
 * they arrive, so what was revoked never comes back. Times are RFC 3339.
 */
export class Directory {
  readonly #users = new Map<string, StoredUser>();
  readonly #tokens = new Map<string, StoredToken>();
  readonly #tokenOfHash = new Map<string, string>();
  readonly #children = new Map<string, StoredChild>();
  readonly #childOfHash = new Map<string, string>();
  /** The names of child sessions by the principal that began them. */
  readonly #childrenBy = new Map<string, Set<string>>();
  readonly #principals = new Map<string, Principal>();
  #version = 0;

  /** Everything up to this version is in here. */
  get version(): number {
    return this.#version;
  }

  /** Takes over what changed. */
  apply({ after, version, users, tokens, children }: Delta, now: string): void {
    for (const user of users) keepNewer(this.#users, userKey(user.tenant, user.id), user);
    for (const token of tokens) {
      keepNewer(this.#tokens, token.id, token);
      this.#tokenOfHash.set(token.hash, token.id);
    }
    for (const child of children) {
      keepNewer(this.#children, child.session_id, child);
      this.#childOfHash.set(child.hash, child.session_id);
      this.#keepUnder(child);
    }
    this.#forgetExpired(now);
    // The objects stay as long as what they say, so that what follows from them is found out once.
    if (users.length > 0 || tokens.length > 0) this.#principals.clear();
    if (after <= this.#version) this.#version = Math.max(this.#version, version);
  }

  /** The principal of an id, as of now. */
  principal(id: string, now: string): Principal | undefined {
    const token = this.#tokens.get(id);
    if (id !== LOCAL && !isLive(token, now)) return undefined;
    const known = this.#principals.get(id);
    if (known) return known;
    const made = token ? this.#principalOf(token) : this.#operator();
    if (made) this.#principals.set(id, made);
    return made;
  }

  /** The principal whose secret has a hash, as of now. */
  principalWithHash(hash: string, now: string): Principal | undefined {
    const token = this.#tokens.get(this.#tokenOfHash.get(hash) ?? "");
    return token && isSameHash(token.hash, hash) ? this.principal(token.id, now) : undefined;
  }

  /** When the token of a principal expires. */
  expiryOf({ id }: Pick<Principal, "id">): string | undefined {
    return this.#tokens.get(id)?.expires;
  }

  /** The child session of a name, as of now: no more than its principal still has. */
  child(session: string, now: string): ChildSession | undefined {
    const child = this.#children.get(session);
    if (!child || !isLive(child, now)) return undefined;
    const principal = this.principal(child.principal, now);
    if (principal?.tenant !== child.tenant || principal.user !== child.user) return undefined;
    return { ...asChildSession(child), scopes: intersect(child.scopes, principal.scopes) };
  }

  /** The live child sessions that were begun with a principal's token. */
  *childrenOf({ id }: Pick<Principal, "id">, now: string): Generator<ChildSession> {
    for (const session of this.#childrenBy.get(id) ?? []) {
      const child = this.child(session, now);
      if (child) yield child;
    }
  }

  /** The child session whose token has a hash, as of now. */
  childWithHash(hash: string, now: string): ChildSession | undefined {
    const child = this.#children.get(this.#childOfHash.get(hash) ?? "");
    return child && isSameHash(child.hash, hash) ? this.child(child.session_id, now) : undefined;
  }

  #keepUnder({ principal, session_id, revoked }: StoredChild): void {
    const own = this.#childrenBy.get(principal) ?? new Set<string>();
    if (revoked === undefined) own.add(session_id);
    else own.delete(session_id);
    if (own.size > 0) this.#childrenBy.set(principal, own);
    else this.#childrenBy.delete(principal);
  }

  #principalOf(token: StoredToken): Principal | undefined {
    const { id, kind, user, tenant, role, agents, started } = token;
    const owner = this.#userOf(tenant, user);
    if (!owner) return undefined;
    const roles = role === undefined ? owner.roles : owner.roles.filter((name) => name === role);
    return { id, kind, user, tenant, roles, scopes: intersect(owner.scopes, token.scopes), agents, started };
  }

  #operator(): Principal | undefined {
    const owner = this.#userOf(DEFAULT_TENANT, OPERATOR);
    if (!owner) return undefined;
    const { id: user, tenant, roles, scopes } = owner;
    return { id: LOCAL, kind: "user", user, tenant, roles, scopes, agents: ["*"], started: "interactive" };
  }

  #userOf(tenant: string, id: string): StoredUser | undefined {
    const user = this.#users.get(userKey(tenant, id));
    return user && user.removed === undefined ? user : undefined;
  }

  /** Children expire about in the order in which they were begun. */
  #forgetExpired(now: string): void {
    for (const [session, { expires, hash, principal }] of this.#children) {
      if (expires > now) return;
      this.#children.delete(session);
      this.#childrenBy.get(principal)?.delete(session);
      this.#childOfHash.delete(hash);
    }
  }
}

interface Ending {
  readonly expires: string | undefined;
  readonly revoked: string | undefined;
}

function isLive(row: Ending | undefined, now: string): boolean {
  return row !== undefined && row.revoked === undefined && (row.expires === undefined || row.expires > now);
}

function keepNewer<Row extends { readonly changed: number }>(
  rows: Map<string, Row>,
  key: string,
  row: Row,
): void {
  if ((rows.get(key)?.changed ?? 0) < row.changed) rows.set(key, row);
}

/** No name holds a slash. */
function userKey(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}
