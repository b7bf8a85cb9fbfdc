import { LedgerError } from "@reins/ledger";
import { StoreError, type StoreErrorCode } from "@reins/store";
import { CliError, EXIT, type ExitCode } from "../errors.ts";
import { printableLine } from "../output.ts";

interface Advice {
  readonly next: string;
  readonly exitCode: ExitCode;
}

const STORE: Partial<Record<StoreErrorCode, Advice>> = {
  locked: {
    next: "Is Reins running on this home? Stop it first (Ctrl-C in `reins up`), or use another --home.",
    exitCode: EXIT.taken,
  },
  full: { next: "Free disk space and run the command again.", exitCode: EXIT.failed },
  newer: { next: "Use the version of Reins that wrote it, or a newer one.", exitCode: EXIT.unreachable },
  older: {
    next: "Start Reins once on this home, which migrates it: reins up",
    exitCode: EXIT.unreachable,
  },
  lost: {
    next: "See what is missing with reins doctor; restore a backup, or accept the loss: reins up --accept-loss",
    exitCode: EXIT.failed,
  },
  corrupt: { next: "Restore the home from a backup or an export.", exitCode: EXIT.unreachable },
  unavailable: {
    next: "Check that PostgreSQL runs and may be reached with the address in REINS_STORE, or store in reins.yaml: reins doctor",
    exitCode: EXIT.unreachable,
  },
  io: { next: "Check the disk, and the permissions of the home folder.", exitCode: EXIT.unreachable },
};

/** Explains a ledger's error and what to do. Returns other errors unchanged. */
export function ledgerError(error: unknown, home: string): unknown {
  if (error instanceof StoreError) {
    const advice = STORE[error.code];
    return advice ? errorWith(error, home, advice) : error;
  }
  if (!(error instanceof LedgerError)) return error;
  return errorWith(error, home, { next: adviceOn(error), exitCode: EXIT.failed });
}

export function noLedger(home: string, cause?: unknown): CliError {
  return new CliError(`There is no ledger in ${home} yet.`, {
    next: "It is created when Reins first runs there: reins up. For another home, give --home <folder> or set REINS_HOME.",
    exitCode: EXIT.unreachable,
    ...(cause !== undefined && { cause }),
  });
}

function errorWith(error: Error, home: string, { next, exitCode }: Advice): CliError {
  return new CliError(`The ledger in ${home}: ${printableLine(error.message)}`, {
    next,
    exitCode,
    cause: error,
  });
}

function adviceOn({ code }: LedgerError): string {
  switch (code) {
    case "corrupt":
      return "To see what is wrong, run: reins ledger verify";
    case "unreadable":
      return "Check the permissions of the keys folder of this home.";
    default:
      return "To see what is there, run: reins ledger show";
  }
}

const CODES: ReadonlySet<StoreErrorCode> = new Set(["lost", "corrupt"]);

export const ACCEPT_LOSS =
  "Stop Reins and restore a backup of the whole home. If there is none, copy the home and accept the loss: reins up --accept-loss, which records it in the ledger.";

/** A home lost recorded data or was changed; nothing is decided in it until a person accepts that. */
export class DamagedHome extends CliError {}

export function damageError(error: unknown, home: string): DamagedHome | undefined {
  if (error instanceof DamagedHome) return error;
  if (!(error instanceof StoreError) || !CODES.has(error.code)) return undefined;
  return new DamagedHome(`The database of ${home} was damaged or changed: ${printableLine(error.message)}`, {
    next: ACCEPT_LOSS,
    exitCode: EXIT.failed,
    cause: error,
  });
}

/** Whether another process holds the database. */
export function isLocked(error: unknown): boolean {
  return error instanceof StoreError && error.code === "locked";
}
