import type { Roster, Trust } from "@reins/policy";
import { TRUST_LEVELS } from "@reins/policy";
import { AgentName, printable } from "./names.ts";
import type { Principal } from "./principal.ts";
import { covers } from "./scopes.ts";

const UNVERIFIED = "unverified:";
const LONGEST_CLAIM = 128;

/** The name under which an agent that nobody vouches for goes on the record. */
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
