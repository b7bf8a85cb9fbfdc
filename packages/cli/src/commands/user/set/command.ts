import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import { names } from "../../../flags.ts";
import type { SetFlags } from "./set.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins user set ann --role admin,reviewer
  reins user set ann --scopes repo:read,repo:write
  reins user set ann --scopes ''          nothing that takes a scope any more
  reins user set ci --tenant acme --email build@acme.example`;

/** Declares `reins user set`. */
export function declareSet(user: Command): void {
  operatorFlags(
    user
      .command("set")
      .summary("change a user")
      .description("Changes what is named of a user and leaves the rest. Counts with the next decision.")
      .argument("<id>", "the user")
      .option("--name <name>", "the person's name")
      .option("--email <address>", "where the person can be reached")
      .option("--tenant <id>", "the user's tenant (default: one's own)")
      .option("--role <roles>", "all the roles the user is to have, with commas between", names)
      .option("--scopes <scopes>", "all the scopes the user is to have, with commas between", names),
    "print the user as JSON",
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (id: string, _, command: Command) => {
      const { set } = await import("./set.ts");
      await set(id, command.optsWithGlobals<SetFlags>());
    });
}
