import { type Roster, TRUST_LEVELS, type Trust } from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import { AgentName, printable } from "./names.ts";
import { covers, isAdmin, isOperator, type Principal } from "./principal.ts";

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

/** Refuses a principal, other than the operator, that grants more than it has. */
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

/** The trust in a sub-agent: no more than in the least trusted of its chain. */
export function trustIn(roster: Pick<Roster, "trustOf">, agents: readonly string[]): Trust {
  const levels = agents.map((agent) => TRUST_LEVELS.indexOf(trustOf(roster, agent)));
  return TRUST_LEVELS[Math.min(...levels)] ?? "unknown";
}

/** The trust in one agent. */
export function trustOf(roster: Pick<Roster, "trustOf">, agent: string): Trust {
  return agent.startsWith(UNVERIFIED) ? "unknown" : roster.trustOf(agent);
}
