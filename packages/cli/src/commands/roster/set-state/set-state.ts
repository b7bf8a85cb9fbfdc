import { rosterOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { print } from "../../../output.ts";
import { describeAgent, ROSTER_ADVICE } from "../agent.ts";

/** Changes the state of an agent on the roster. */
export async function setState(name: string, state: string, flags: OperatorFlags): Promise<void> {
  const asked = { params: { agent: name }, body: { state }, advice: ROSTER_ADVICE };
  const agent = await withOperator(flags, (operator) => operator.ask(rosterOperations.setAgent, asked));
  print(flags.json ? `${JSON.stringify(agent)}\n` : describeAgent(agent));
}
