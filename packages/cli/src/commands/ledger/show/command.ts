import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { type LedgerFlags, READING } from "../../../ledger/open-ledger.ts";

const HELP = `
Examples:
  reins ledger show
  reins ledger show --json | jq .size`;

/** Declares `reins ledger show`. */
export function declareShow(ledger: Command): void {
  ledger
    .command("show")
    .summary("what the ledger is and how far it goes")
    .description("Shows the ledger's name, size, newest checkpoint, keys and most recent sessions.")
    .option("--home <folder>", "the home folder")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(READING))
    .action(async (_, command: Command) => {
      const { show } = await import("./show.ts");
      await show(command.optsWithGlobals<LedgerFlags>());
    });
}
