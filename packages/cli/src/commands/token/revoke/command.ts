import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { RevokeFlags } from "./revoke.ts";

const HELP = `${OPERATOR_HELP}

Examples:
  reins token revoke tok_4mZ8
  reins token revoke 4mZ8 --tenant acme`;

/** Declares `reins token revoke`. */
export function declareRevoke(token: Command): void {
  operatorFlags(
    token
      .command("revoke")
      .summary("end a token")
      .description(
        "Ends a token and the sub-agents begun with it. What comes with it is refused from the next decision on.",
      )
      .argument("<token>", "the token's id; its beginning is enough")
      .option("--tenant <id>", "where to look for an id that is cut short (default: one's own)"),
  )
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(OPERATOR_CODES))
    .action(async (token: string, _, command: Command) => {
      const { revoke } = await import("./revoke.ts");
      await revoke(token, command.optsWithGlobals<RevokeFlags>());
    });
}
