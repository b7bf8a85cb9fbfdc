import type { Tables } from "@reins/store";
import type { StoredChild } from "../delegation.ts";
import type { StoredToken } from "../tokens.ts";
import type { StoredUser, User } from "../users.ts";

/** What changed after one version, up to another. */
export interface Delta {
  readonly after: number;
  readonly version: number;
  readonly users: readonly StoredUser[];
  readonly tokens: readonly StoredToken[];
  readonly children: readonly StoredChild[];
}

/** A tenant. */
export interface Tenant {
  readonly id: string;
  /** RFC 3339. */
  readonly created: string;
}

/** A token that no secret of ours opens: its issuer vouches for the holder. */
export type AdmittedToken = Omit<StoredToken, "changed" | "revoked" | "hash" | "role"> &
  Required<Pick<StoredToken, "origin" | "issued" | "expires">>;

/** A change that holds only if the row is still the one it was made from; 0 if there was none. */
interface Expecting {
  readonly expected: number;
}

/** A change within a tenant, at a time. */
interface Within {
  readonly tenant: string;
  readonly at: string;
}

/** What identity changes in the store. Each gives back the rows it touched, or ends its commit as a conflict. */
export type IdentityChanges = {
  /** Adds a user, or puts it in place of what it was. Its tenant comes to be with it. */
  putUser(args: { user: User; at: string } & Expecting): Delta;
  /** Removes a user, and for good revokes its tokens and child sessions. */
  removeUser(args: { id: string } & Within & Expecting): Delta;
  /** Removes a tenant with everything in it. */
  removeTenant(args: Within): Delta;
  addToken(args: { token: Omit<StoredToken, "changed" | "revoked"> }): Delta;
  /** Puts a user that an issuer vouches for, and the token that stands for it, in place of what they were. */
  admit(args: { user: User; token: AdmittedToken; expected: { user: number; token: number } }): Delta;
  /** Revokes a token and the child sessions begun with it. */
  revokeToken(args: { id: string } & Within): Delta;
  /** Adds a child session, unless its principal has `most` of them already. Forgets those that have expired. */
  addChild(args: { child: Omit<StoredChild, "changed" | "revoked">; most: number }): Delta;
  /** Revokes a session and all that was begun from it, of one principal only if one is named. */
  revokeSession(args: { session: string; principal: string | undefined } & Within): Delta;
};

/** What identity reads from the store. Nothing is found without its tenant. */
export type IdentityQueries = {
  hashKey(args: null): Uint8Array;
  since(args: { version: number }): Delta;
  tenants(args: null): Tenant[];
  /** The names of all tenants there ever were, removed ones too. */
  everyTenant(args: null): string[];
  users(args: { tenant: string }): StoredUser[];
  user(args: { tenant: string; id: string }): StoredUser | undefined;
  tokens(args: { tenant: string }): StoredToken[];
  /** Without a tenant, for the operator alone, in whichever it is. */
  token(args: { tenant: string | undefined; id: string }): StoredToken | undefined;
  children(args: { tenant: string; at: string }): StoredChild[];
  /** How many live sessions revoking one would end. */
  reach(args: { session: string; principal: string | undefined } & Within): number;
};

/** The part of the store that knows who is who. */
export const identityTables: Tables<IdentityChanges, IdentityQueries> = {
  name: "identity",
  module: new URL("./module.ts", import.meta.url),
};
