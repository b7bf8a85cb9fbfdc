import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { READING } from "../../../ledger/open-ledger.ts";
import type { ExportFlags } from "./export.ts";

const HELP = `
The form is JSON Lines; docs/ledger-format.md describes it to the byte. Without --with-private the export shows private
content by its digest only, and verifies all the same.

Examples:
  reins ledger export audit.jsonl.gz                compressed, by its name
  reins ledger export --gzip - | ssh auditor 'cat > audit.jsonl.gz'
  reins ledger export - | jq 'select(.kind == "entry") | .entry.quality'`;

/** Declares `reins ledger export`. */
export function declareExport(ledger: Command): void {
  ledger
    .command("export")
    .summary("write the whole ledger for somebody else to verify")
    .description(
      "Writes every entry up to the newest checkpoint, with all checkpoints. Works while Reins runs.",
    )
    .argument("[file]", "where to write it, - for stdout; it must not be there yet", "-")
    .option("--home <folder>", "the home folder")
    .option("--gzip", "compress it; also done when the file's name ends in .gz")
    .option("--with-private", "include the private content that was not erased")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(READING))
    .action(async (file: string, _, command: Command) => {
      const { exportLedger } = await import("./export.ts");
      await exportLedger(file, command.optsWithGlobals<ExportFlags>());
    });
}
