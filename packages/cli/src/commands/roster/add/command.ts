import { type Command, Option } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import { STATES } from "../states.ts";
import type { AddFlags } from "./add.ts";

const HELP = `
The roster is shared by all tenants, so it takes an admin of the default one.
${OPERATOR_HELP}

Examples:
  reins roster add reed
  reins roster add chronicler --kind role --mandate mandates/chronicler.md`;

/** Declares `reins roster add`. */
export function declareAdd(roster: Command): void {
  operatorFlags(
    roster
      .command("add")
      .summary("put an agent on the roster")
      .description("Puts an agent on the roster, under the id by which it calls itself.")
      .argument("<agent>", "the agent's id")
      .addOption(
        new Option("--kind <kind>", "a role that is live is trusted more")
          .choices(["agent", "role"])
          .default("agent"),
      )
      .addOption(
        new Option("--state <state>", "a dead agent counts as unknown").choices(STATES).default("live"),
      )
      .option("--mandate <file>", "its mandate: a file below the home, such as mandates/reed.md"),
    "print the agent as JSON",
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (agent: string, _, command: Command) => {
      const { add } = await import("./add.ts");
      await add(agent, command.optsWithGlobals<AddFlags>());
    });
}
