import type { rosterOperations } from "@reins/api";
import type { z } from "zod";
import { printableLine } from "../../printable.ts";

/** An agent of the roster. */
type RosterAgent = z.output<typeof rosterOperations.addAgent.answer>;

/** Which agents there are cannot be known from their names. */
export const ROSTER_ADVICE = {
  not_found: "To see who is known: reins roster list. To add an agent: reins roster add <agent>",
  conflict: "To see who is known: reins roster list. To change it: reins roster set-state <agent> <state>",
} as const;

/** A member of an agent's line; what is not there is a dash. */
export function member({ entry }: RosterAgent, name: string): string {
  const value = Object.entries(entry).find(([key]) => key === name)?.[1];
  return typeof value === "string" ? printableLine(value) : "-";
}

/** What became of an agent, for whoever changed it. */
export function describeAgent(agent: RosterAgent): string {
  return `${printableLine(agent.agent)} is ${agent.trust} now (${member(agent, "kind")}, ${member(agent, "state")})\n`;
}
