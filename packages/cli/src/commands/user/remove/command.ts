import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { RemoveFlags } from "./remove.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins user remove ann
  reins user remove ci --tenant acme`;

/** Declares `reins user remove`. */
export function declareRemove(user: Command): void {
  operatorFlags(
    user
      .command("remove")
      .summary("remove a user with its tokens")
      .description(
        "Removes a user with its tokens and sub-agents, from the next decision on. What it did stays on the record.",
      )
      .argument("<id>", "the user")
      .option("--tenant <id>", "the user's tenant (default: one's own)"),
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (id: string, _, command: Command) => {
      const { remove } = await import("./remove.ts");
      await remove(id, command.optsWithGlobals<RemoveFlags>());
    });
}
