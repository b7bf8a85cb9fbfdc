import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import type { VerifyFlags } from "./settings.ts";

const HELP = `
Sources:
  a file                         an export, compressed or not, or a proof of reins ledger prove
  a folder                       a home, also one that is in use, held against the checkpoint last seen in it
  http://…, https://…            where either kind of file is, or the address of a Reins
  -                              the same on stdin
  (left out)                     the home folder

The checker shares no code with what writes the ledger. With --key it trusts nothing that the ledger says of itself,
and with --seen it notices when a ledger was cut off or rolled back; without, the report says what is not ruled out.

Examples:
  reins ledger verify
  reins ledger verify audit.jsonl.gz --key "$(cat log.key)" --seen last-year.note
  reins ledger verify verdict.proof.json
  reins ledger verify audit.jsonl.gz --json | jq .faults`;

/** Declares `reins ledger verify`. */
export function declareVerify(ledger: Command, invocation: Invocation): void {
  ledger
    .command("verify")
    .summary("check a ledger, an export or a proof, trusting nobody")
    .description(
      "Checks every entry, chain, signature and checkpoint, names what is wrong, and ends with a verdict.",
    )
    .argument("[source]", "what to check (default: the home folder)")
    .option("--home <folder>", "the home folder, when the source is left out")
    .option(
      "--key <key>",
      "the log's verifier key, as you know it from elsewhere; @file reads it from a file",
    )
    .option("--seen <checkpoint>", "a checkpoint from an earlier day: a file with the note, or the note")
    .option("--token <secret>", "bearer token to show to a server; @file reads it from a file")
    .option("--json", "print the report as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "everything holds",
        failed: "something does not hold",
        usage: "wrong usage",
        unreachable: "the source cannot be reached or read",
      }),
    )
    .action(async (source: string | undefined, _, command: Command) => {
      const { verifyLedger } = await import("./verify.ts");
      invocation.exitCode = await verifyLedger(source, command.optsWithGlobals<VerifyFlags>());
    });
}
