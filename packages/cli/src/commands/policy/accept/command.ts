import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, operatorFlags } from "../../../client/connect.ts";
import { exitCodesHelp } from "../../../errors.ts";
import type { AcceptFlags } from "./accept.ts";

const HELP = `
On a terminal it asks first. What is put into force is what was shown: when the
file was changed meanwhile, it is refused.
${OPERATOR_HELP}

Examples:
  reins policy accept
  reins policy accept --dry-run           only show what it would change
  reins policy accept --tenant acme --yes`;

/** Declares `reins policy accept`. */
export function declareAccept(policy: Command): void {
  const accept = policy
    .command("accept")
    .summary("put a constitution into force that lets more through")
    .description(
      "Shows how a changed constitution that waits differs from the one in force, and puts it into force.",
    )
    .option("--tenant <id>", "the tenant whose constitution it is (default: one's own)")
    .option("--yes", "do not ask")
    .option("--dry-run", "only show it");
  operatorFlags(accept, "print the difference as JSON; does not ask")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({ ...OPERATOR_CODES, failed: "nothing waits, or it was refused; the message says why" }),
    )
    .action(async (_, command: Command) => {
      const { accept } = await import("./accept.ts");
      await accept(command.optsWithGlobals<AcceptFlags>());
    });
}
