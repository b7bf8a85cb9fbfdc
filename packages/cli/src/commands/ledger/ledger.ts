import { group } from "../../command.ts";
import { getCommand, proveCommand } from "./entry.ts";
import { keysCommand } from "./keys.ts";
import { logCommand } from "./log.ts";
import { checkpointCommand, showCommand } from "./show.ts";
import { exportCommand, importCommand } from "./transfer.ts";
import { verifyCommand } from "./verify.ts";

const DESCRIPTION =
  "The tamper-evident record of decisions and events. Reading works while Reins runs.\n" +
  "The last checkpoint seen of each ledger is kept in the user's state folder; every command checks against it.";

export const ledgerCommand = group(DESCRIPTION, {
  show: showCommand,
  log: logCommand,
  get: getCommand,
  verify: verifyCommand,
  prove: proveCommand,
  checkpoint: checkpointCommand,
  export: exportCommand,
  import: importCommand,
  keys: keysCommand,
});
