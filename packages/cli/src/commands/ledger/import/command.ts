import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { type LedgerFlags, WRITING } from "../../../ledger/open-ledger.ts";

const HELP = `
What is there already is left alone, so an import that broke off can be run again. Every entry's content id and chain is
checked on the way in; signatures and checkpoints are for the verifier: run reins ledger verify before or afterwards.
A ledger that was begun elsewhere can be read and verified here, but only its own home can add to it.

Examples:
  reins ledger import audit.jsonl.gz --home ./copy
  ssh server reins ledger export --gzip | reins ledger import - --home ./copy`;

/** Declares `reins ledger import`. */
export function declareImport(ledger: Command): void {
  ledger
    .command("import")
    .summary("take over an exported ledger")
    .description("Takes an export into a home that has no ledger yet, or has the beginning of the same one.")
    .argument("<file>", "the export, compressed or not; - for stdin")
    .option("--home <folder>", "the home folder")
    .option("--json", "print what was done as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        ...WRITING,
        failed: "the export is damaged, or of another ledger than the one here",
        unreachable: "the file or the home cannot be read",
      }),
    )
    .action(async (file: string, _, command: Command) => {
      const { importLedger } = await import("./import.ts");
      await importLedger(file, command.optsWithGlobals<LedgerFlags>());
    });
}
