import { type Roster, type Started, TRUST_LEVELS, type Trust } from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import { AgentName, printable } from "./names.ts";

/** What stands behind a token. */
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

/** Refuses principals that may not change or list identity. */
export function expectAdmin(by: Principal): void {
  if (isAdmin(by)) return;
  const why = by.kind === "agent" ? "an agent never may" : 'that takes the role "admin"';
  throw new SupervisorError("forbidden", `${by.user} may not change or list identity: ${why}`);
}

/** The tenant of a request. All but the operator see only their own. */
export function tenantFor(by: Principal, asked: string | undefined): string {
  if (asked === undefined || asked === by.tenant) return by.tenant;
  if (isOperator(by)) return asked;
  throw new SupervisorError("not_found", `there is no tenant "${asked}"`);
}

/** Refuses to let anybody but the operator hand out what they do not hold themselves. */
export function expectHeld(by: Principal, what: "scopes" | "agents", wanted: readonly string[]): void {
  if (isOperator(by) || covers(by[what], wanted)) return;
  const missing = wanted.filter((name) => !by[what].includes(name)).join(", ");
  throw new SupervisorError("forbidden", `${by.user} cannot give away ${what} it does not have: ${missing}`);
}

const UNVERIFIED = "unverified:";

const LONGEST_CLAIM = 128;

/** The recorded name of an unverified agent. */
export function unverified(claim: string): string {
  return `${UNVERIFIED}${claimOf(claim)}`;
}

/** The agent that acts: the one it says it is if the principal may act as that, else an unverified one. */
export function agentFor({ agents }: Principal, claim: string): string {
  const plain = AgentName.safeParse(claim).success && !claim.startsWith(UNVERIFIED);
  return plain && covers(agents, [claim]) ? claim : unverified(claim);
}

/** The one agent that a token stands for, if it is an agent's and names no other: its holder is that agent. */
export function soleAgent({ kind, agents }: Principal): string | undefined {
  const [only] = agents;
  return kind === "agent" && agents.length === 1 && only !== "*" ? only : undefined;
}

/** What an agent called itself, as it is kept. */
export function claimOf(claim: string): string {
  return printable(claim, LONGEST_CLAIM);
}

/** How well an agent is known that was begun by others: no better than the least known of them all. */
export function trustIn(roster: Pick<Roster, "trustOf">, agents: readonly string[]): Trust {
  const levels = agents.map((agent) => TRUST_LEVELS.indexOf(trustOf(roster, agent)));
  return TRUST_LEVELS[Math.min(...levels)] ?? "unknown";
}

/** How well an agent is known by itself. */
export function trustOf(roster: Pick<Roster, "trustOf">, agent: string): Trust {
  return agent.startsWith(UNVERIFIED) ? "unknown" : roster.trustOf(agent);
}
