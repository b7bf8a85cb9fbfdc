import type { Started } from "@reins/policy";

/** What follows a token. */
export const PRINCIPAL_KINDS = ["user", "service", "agent"] as const;

export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/**
 * Who asks, as a token or this machine vouches for. Made by `Identity` alone; what it holds is as of the moment it was
 * made, and every decision looks it up anew by its id.
 */
export interface Principal {
  /** The public id of the token, or {@link LOCAL}. */
  readonly id: string;
  readonly kind: PrincipalKind;
  /** The id of the user it acts for. */
  readonly user: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** `*` is all. */
  readonly scopes: readonly string[];
  /** The agents of the roster it may act as; `*` is any. */
  readonly agents: readonly string[];
  readonly started: Started;
}

/** The id of the principal that needs no token: the operator at this machine. */
export const LOCAL = "local";

/** The tenant and the user of that principal. They are there from the beginning and stay. */
export const DEFAULT_TENANT = "default";

export const OPERATOR = "operator";

/** The role that may change identity. */
export const ADMIN = "admin";

/** The role that answers approvals of others in its tenant. */
export const APPROVER = "approver";

/** Whether it is the operator at this machine, who alone reaches into every tenant. */
export function isOperator({ id }: Principal): boolean {
  return id === LOCAL;
}

/** Whether it may change identity within its tenant. An agent never may, whatever its roles. */
export function isAdmin(principal: Principal): boolean {
  return isOperator(principal) || (principal.kind !== "agent" && principal.roles.includes(ADMIN));
}

/** The name under which a principal's user acts in the ledger. Two tenants may both have an "ann". */
export function actorOf({ tenant, user }: Pick<Principal, "tenant" | "user">): string {
  return `user:${tenant}/${user}`;
}

/** Stands for every scope, or every agent. */
export const ALL = "*";

/** What all of several lists hold. A list with `*` holds everything, so it narrows nothing. */
export function intersect(...lists: readonly (readonly string[])[]): readonly string[] {
  const narrowing = lists.filter((list) => !list.includes(ALL));
  const [first, ...others] = narrowing;
  if (!first) return [ALL];
  return first.filter((name) => others.every((other) => other.includes(name)));
}

/** Whether a list holds everything that another does. */
export function covers(holder: readonly string[], wanted: readonly string[]): boolean {
  return holder.includes(ALL) || wanted.every((name) => holder.includes(name));
}
