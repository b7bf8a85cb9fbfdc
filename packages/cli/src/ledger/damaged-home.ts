import { StoreError, type StoreErrorCode } from "@reins/store";
import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";

const CODES: ReadonlySet<StoreErrorCode> = new Set(["lost", "corrupt"]);

/** How to go on with a home of which something is gone or changed. */
export const ACCEPT_LOSS =
  "Stop Reins and put a backup of the whole home back. If there is none, copy the home away and accept the loss: reins up --accept-loss, which records it in the ledger.";

/** A home lacks something that was recorded in it, or it was changed; nothing is decided there until a person has. */
export class DamagedHome extends CliError {}

/** The damage that an error tells of; `undefined` for other errors. */
export function damageIn(error: unknown, home: string): DamagedHome | undefined {
  if (error instanceof DamagedHome) return error;
  if (!(error instanceof StoreError) || !CODES.has(error.code)) return undefined;
  return new DamagedHome(
    `The database of ${home} is not what was written to it: ${printableLine(error.message)}`,
    {
      next: ACCEPT_LOSS,
      exitCode: EXIT.failed,
      cause: error,
    },
  );
}
