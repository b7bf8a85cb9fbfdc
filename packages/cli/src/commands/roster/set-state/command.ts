import { Argument, type Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import { STATES } from "../states.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins roster set-state reed idle
  reins roster set-state reed dead        unknown from the next decision on`;

/** Declares `reins roster set-state`. */
export function declareSetState(roster: Command): void {
  operatorFlags(
    roster
      .command("set-state")
      .summary("say whether an agent is live, idle or dead")
      .description("Changes the state of an agent on the roster and leaves the rest of its line.")
      .argument("<agent>", "the agent's id")
      .addArgument(new Argument("<state>", "what it is now").choices(STATES)),
    "print the agent as JSON",
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (agent: string, state: string, _, command: Command) => {
      const { setState } = await import("./set-state.ts");
      await setState(agent, state, command.optsWithGlobals<OperatorFlags>());
    });
}
