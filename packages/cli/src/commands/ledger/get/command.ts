import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { type LedgerFlags, READING } from "../../../ledger/open-ledger.ts";

const HELP = `
Private content stays a reference, and what is sealed stays sealed.

Examples:
  reins ledger get 3f2a9c41d07b                     any beginning that only one entry has
  reins ledger get 3f2a9c41d07b --json | jq .entry.payload`;

/** Declares `reins ledger get`. */
export function declareGet(ledger: Command): void {
  ledger
    .command("get")
    .summary("print one entry")
    .description("Prints an entry and its place in the ledger as JSON.")
    .argument("<cid>", "its content id, or the beginning of it")
    .option("--home <folder>", "the home folder")
    .option("--json", "print it on one line")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...READING, failed: `there is no such entry; ${READING.failed}` }))
    .action(async (cid: string, _, command: Command) => {
      const { get } = await import("./get.ts");
      await get(cid, command.optsWithGlobals<LedgerFlags>());
    });
}
