import { SupervisorError } from "../supervisor-error.ts";

/** How far delegation may go. */
export interface DelegationLimits {
  /** How deep sub-agents may stand below the user's own agent. */
  readonly depth: number;
  /** How often one agent may stand in a chain of agents, so that two cannot call one another without end. */
  readonly repeats: number;
  /** How many sub-agents a principal may have at once. */
  readonly children: number;
  /** How long a session_token is valid, in milliseconds. */
  readonly lifetime: number;
}

/** The limits unless others are given. */
export const DELEGATION_LIMITS: DelegationLimits = {
  depth: 8,
  repeats: 4,
  children: 10_000,
  lifetime: 12 * 60 * 60 * 1_000,
};

/** Refuses an agent that would stand too deep below its chain, or too often in it. */
export function expectWithinLimits(
  { depth, repeats }: DelegationLimits,
  chain: readonly string[],
  agent: string,
): void {
  if (chain.length > depth)
    throw new SupervisorError("forbidden", `sub-agents may stand at most ${depth} deep`);
  if (chain.filter((name) => name === agent).length >= repeats)
    throw new SupervisorError("forbidden", `"${agent}" may stand at most ${repeats} times in one chain`);
}
