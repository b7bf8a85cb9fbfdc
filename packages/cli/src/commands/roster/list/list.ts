import { rosterOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { printableLine, screenWidth, table } from "../../../printable.ts";
import { member } from "../agent.ts";

/** Lists the agents that are known. */
export async function list(flags: OperatorFlags): Promise<void> {
  const roster = await withOperator(flags, (operator) => operator.ask(rosterOperations.getRoster));
  if (flags.json) return print(`${JSON.stringify(roster)}\n`);
  const rows = roster.agents.map((agent) => [
    printableLine(agent.agent),
    agent.trust,
    member(agent, "kind"),
    member(agent, "state"),
    member(agent, "mandate"),
  ]);
  print(table([["agent", "trust", "kind", "state", "mandate"], ...rows], screenWidth()));
  for (const fault of roster.faults) noticeOnStderr(false)(`agent-roster.jsonl: ${printableLine(fault)}`);
}
