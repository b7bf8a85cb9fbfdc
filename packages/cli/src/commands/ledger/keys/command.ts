import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { type LedgerFlags, READING, WRITING } from "../../../ledger/open-ledger.ts";

const HELP = `
Keys are held by Reins, one for itself and one for each agent and person who signs; a retired key signs nothing more,
and what it signed stays valid. The log's key signs checkpoints. Others know the ledger by it, so it never changes.

Examples:
  reins ledger keys
  reins ledger keys --json | jq -r .log_key         to give to whoever verifies: reins ledger verify --key`;

const ROTATE_HELP = `
Examples:
  reins ledger keys rotate reins:system
  reins ledger keys rotate reed
  reins ledger keys rotate reins:vault              the key that seals what is kept exactly; reins up then uses it`;

/** Declares `reins ledger keys`. */
export function declareKeys(ledger: Command): void {
  const keys = ledger
    .command("keys")
    .summary("list the keys that sign, or give somebody a new one")
    .description("Lists the keys that the ledger announces, and the key that signs its checkpoints.")
    .option("--home <folder>", "the home folder")
    .option("--json", "print them as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp(READING))
    .action(async (_, command: Command) => {
      const { keys } = await import("./keys.ts");
      await keys(command.optsWithGlobals<LedgerFlags>());
    });
  declareRotate(keys);
}

function declareRotate(keys: Command): void {
  keys
    .command("rotate")
    .summary("give a holder a new key")
    .description(
      "Gives a holder a new key, and records that the old one stopped. Reins must not run meanwhile.",
    )
    .argument("<holder>", "whose key: an agent, a person, reins:system or reins:vault")
    .option("--home <folder>", "the home folder")
    .option("--json", "print the new key as JSON")
    .addHelpText("after", ROTATE_HELP)
    .addHelpText("after", exitCodesHelp({ ...WRITING, failed: `the holder has no key; ${WRITING.failed}` }))
    .action(async (holder: string, _, command: Command) => {
      const { rotate } = await import("./rotate.ts");
      await rotate(holder, command.optsWithGlobals<LedgerFlags>());
    });
}
