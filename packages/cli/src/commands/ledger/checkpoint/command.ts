import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { type LedgerFlags, READING } from "../../../ledger/open-ledger.ts";

const HELP = `
Give it to somebody, or keep it elsewhere: whoever has it can tell later whether the ledger was shortened or rewritten.

Examples:
  reins ledger checkpoint > today.note
  reins ledger verify --seen today.note             some other day`;

/** Declares `reins ledger checkpoint`. */
export function declareCheckpoint(ledger: Command): void {
  ledger
    .command("checkpoint")
    .summary("print the newest signed checkpoint")
    .description(
      "Prints the newest checkpoint: a signed note of the ledger's name, its size and the root of its tree.",
    )
    .option("--home <folder>", "the home folder")
    .option("--json", "print it as JSON, with the key it is signed with")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(READING))
    .action(async (_, command: Command) => {
      const { checkpoint } = await import("./checkpoint.ts");
      await checkpoint(command.optsWithGlobals<LedgerFlags>());
    });
}
