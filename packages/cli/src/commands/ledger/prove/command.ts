import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { READING } from "../../../ledger/open-ledger.ts";
import type { ProveFlags } from "./prove.ts";

const HELP = `
The proof holds the entry, its way to the root of a signed checkpoint, and the announcement of the key that signed it.
Whoever gets it needs nothing else: reins ledger verify <file>

Examples:
  reins ledger prove 3f2a9c41d07b -o verdict.proof.json
  reins ledger prove 3f2a9c41d07b > verdict.proof.json`;

/** Declares `reins ledger prove`. */
export function declareProve(ledger: Command): void {
  ledger
    .command("prove")
    .summary("write a proof that an entry is in the ledger")
    .description("Writes a proof file that stands on its own.")
    .argument("<cid>", "the entry's content id, or the beginning of it")
    .option("--home <folder>", "the home folder")
    .option("-o, --output <file>", "where to write it (default: stdout)")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...READING, failed: `there is no such entry; ${READING.failed}` }))
    .action(async (cid: string, _, command: Command) => {
      const { prove } = await import("./prove.ts");
      await prove(cid, command.optsWithGlobals<ProveFlags>());
    });
}
