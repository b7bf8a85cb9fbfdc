import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins roster list
  reins roster list --json | jq -r '.agents[] | .agent + " " + .trust'`;

/** Declares `reins roster list`. */
export function declareList(roster: Command): void {
  operatorFlags(
    roster
      .command("list")
      .summary("list the agents that are known")
      .description("Lists the agents on the roster with their trust and mandate."),
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(command.optsWithGlobals<OperatorFlags>());
    });
}
