import { rosterOperations } from "@reins/api";
import type { OperatorFlags } from "../../../operator/flags.ts";
import { withOperator } from "../../../operator/with-operator.ts";
import { print } from "../../../print.ts";
import { describeAgent, ROSTER_ADVICE } from "../agent.ts";

/** Changes the state of an agent on the roster. */
export async function setState(name: string, state: string, flags: OperatorFlags): Promise<void> {
  const asked = { params: { agent: name }, body: { state }, advice: ROSTER_ADVICE };
  const agent = await withOperator(flags, (operator) => operator.ask(rosterOperations.setAgent, asked));
  print(flags.json ? `${JSON.stringify(agent)}\n` : describeAgent(agent));
}
