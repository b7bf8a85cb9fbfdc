import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareCheckpoint } from "./checkpoint/command.ts";
import { declareExport } from "./export/command.ts";
import { declareGet } from "./get/command.ts";
import { declareImport } from "./import/command.ts";
import { declareKeys } from "./keys/command.ts";
import { declareLog } from "./log/command.ts";
import { declareProve } from "./prove/command.ts";
import { declareShow } from "./show/command.ts";
import { declareVerify } from "./verify/command.ts";

/** Declares `reins ledger` and what belongs to it. */
export function declareLedger(program: Command, invocation: Invocation): void {
  const ledger = program
    .command("ledger")
    .summary("read, export and verify the record")
    .description(
      "The record of what was decided and seen, which nobody can change unnoticed. Reading works while Reins runs.\n" +
        "The last checkpoint seen of each ledger is kept in the user's state folder; every command checks against it.",
    );
  declareShow(ledger);
  declareLog(ledger);
  declareGet(ledger);
  declareVerify(ledger, invocation);
  declareProve(ledger);
  declareCheckpoint(ledger);
  declareExport(ledger);
  declareImport(ledger);
  declareKeys(ledger);
}
