import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { ListFlags } from "./list.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins token list
  reins token list --tenant acme --all
  reins token list --json | jq -r '.tokens[] | select(.user == "ann").id'`;

/** Declares `reins token list`. */
export function declareList(token: Command): void {
  operatorFlags(
    token
      .command("list")
      .summary("list tokens, never their secrets")
      .description("Lists the tokens of a tenant that are valid, the newest first.")
      .option("--tenant <id>", "the tenant (default: one's own)")
      .option("--all", "also those that were revoked or have expired"),
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (_, command: Command) => {
      const { list } = await import("./list.ts");
      await list(command.optsWithGlobals<ListFlags>());
    });
}
