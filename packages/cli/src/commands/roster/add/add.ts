import { rosterOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { print } from "../../../output.ts";
import { describeAgent, ROSTER_ADVICE } from "../agent.ts";

/** The flags of `reins roster add` as they were written. */
export interface AddFlags extends OperatorFlags {
  readonly kind: string;
  readonly state: string;
  readonly mandate?: string;
}

/** Puts an agent on the roster. */
export async function add(name: string, flags: AddFlags): Promise<void> {
  const { kind, state, mandate, json } = flags;
  const body = { session_id: name, kind, state, ...(mandate !== undefined && { mandate }) };
  const agent = await withOperator(flags, (operator) =>
    operator.ask(rosterOperations.addAgent, { body, advice: ROSTER_ADVICE }),
  );
  print(json ? `${JSON.stringify(agent)}\n` : describeAgent(agent));
}
