import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { ListFlags } from "./list.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins user list
  reins user list --tenant acme --json | jq -r '.users[].email'`;

/** Declares `reins user list`. */
export function declareList(user: Command): void {
  operatorFlags(
    user
      .command("list")
      .summary("list the users of a tenant")
      .description("Lists the users of a tenant.")
      .option("--tenant <id>", "the tenant (default: one's own)"),
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(command.optsWithGlobals<ListFlags>());
    });
}
