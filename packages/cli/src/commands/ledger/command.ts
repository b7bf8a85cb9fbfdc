import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareGet, declareProve } from "./entry.ts";
import { declareKeys } from "./keys.ts";
import { declareLog } from "./log.ts";
import { declareCheckpoint, declareShow } from "./show.ts";
import { declareExport, declareImport } from "./transfer.ts";
import { declareVerify } from "./verify.ts";

export function declareLedger(ledger: Command, invocation: Invocation): void {
  ledger.description(
    "The tamper-evident record of decisions and events. Reading works while Reins runs.\n" +
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
