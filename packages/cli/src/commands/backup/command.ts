import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import type { BackupFlags } from "./backup.ts";

const HELP = `
The copy is whole as it is: every entry of its ledger is covered by a signed
checkpoint. Keys, artifacts and the other files of the home are not in it.

Examples:
  reins backup /backups/reins-2026-02-04.db
  reins ledger verify /backups/reins-2026-02-04.db`;

/** Declares `reins backup`. */
export function declareBackup(program: Command): void {
  program
    .command("backup")
    .summary("copy the database, also while Reins runs")
    .description(
      "Copies the database of a home to a new file that verifies as it is. Works while Reins runs.",
    )
    .argument("<file>", "where to write it; it must not be there yet")
    .option("--home <folder>", "the home folder")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "the copy is there",
        failed: "it could not be made",
        usage: "wrong usage",
        unreachable: "there is no ledger in the home, or it cannot be read",
      }),
    )
    .action(async (file: string, _, command: Command) => {
      const { backup } = await import("./backup.ts");
      await backup(file, command.optsWithGlobals<BackupFlags>());
    });
}
