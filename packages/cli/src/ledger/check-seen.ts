import { type Checkpoint, LedgerError, type LedgerReader, openCheckpoint } from "@reins/ledger";
import { verifyConsistency } from "@reins/verify";
import { CliError } from "../errors/cli-error.ts";
import { textOf } from "../errors/render.ts";
import { EXIT } from "../exit-codes.ts";
import type { Notice } from "../notice.ts";
import { printableLine } from "../printable.ts";
import { keepSeen } from "./keep-seen.ts";
import type { SeenCheckpoints } from "./seen-checkpoints.ts";
import { SeenMismatch } from "./seen-mismatch.ts";

/** What is needed of a ledger to check it against the past. */
export type CheckedLedger = Pick<LedgerReader, "origin" | "logKey" | "size" | "checkpoint" | "consistency">;

/** A checkpoint whose signature was checked, and the note it was read from. */
interface OpenedNote extends Checkpoint {
  readonly note: string;
}

/**
 * Checks that the ledger of a home continues what it was when this user last saw it, there or elsewhere, and keeps its
 * newest checkpoint for the next time. What was kept is left alone when it does not.
 *
 * @throws SeenMismatch when entries were taken away or rewritten.
 */
export async function checkSeen(
  ledger: CheckedLedger,
  home: string,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  const { logKey } = ledger;
  // In this order: what is kept was in the ledger before, so the newest of now cannot be older.
  const here = await seen.inHome(home);
  const largest = await seen.largest(logKey);
  const newest = await newestOf(ledger);
  if (here?.logKey === logKey) await compare(ledger, here.note, newest, seen.fileOfHome(home));
  // A copy may be behind what was seen elsewhere; as far as it goes it has to be the same.
  if (
    largest !== undefined &&
    largest !== here?.note &&
    newest &&
    newest.size >= openKept(largest, logKey, seen.fileOf(logKey)).size
  )
    await compare(ledger, largest, newest, seen.fileOf(logKey));
  if (newest) await keepSeen(home, { logKey, note: newest.note }, seen, notice);
}

/**
 * Keeps the newest checkpoint of a ledger though it does not continue what was seen; what was lost by that, if anything.
 */
export async function acceptSeen(
  ledger: CheckedLedger,
  home: string,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<string | undefined> {
  try {
    await checkSeen(ledger, home, seen, notice);
    return undefined;
  } catch (error) {
    if (!(error instanceof SeenMismatch)) throw error;
    const newest = await newestOf(ledger);
    if (newest) await seen.replace(home, { logKey: ledger.logKey, note: newest.note });
    return error.message;
  }
}

async function newestOf(ledger: CheckedLedger): Promise<OpenedNote | undefined> {
  try {
    const { note } = await ledger.checkpoint();
    return { ...openCheckpoint(note, ledger.logKey), note };
  } catch (error) {
    if (error instanceof LedgerError && error.code === "not_found") return undefined;
    throw error;
  }
}

async function compare(
  ledger: CheckedLedger,
  note: string,
  found: OpenedNote | undefined,
  file: string,
): Promise<void> {
  const name = printableLine(ledger.origin);
  const kept = openKept(note, ledger.logKey, file);
  const mismatch = (text: string) => new SeenMismatch(text, kept, found, file);
  if (!found || found.size < kept.size)
    throw mismatch(`The ledger ${name} is shorter than it was: it was rolled back.`);
  const entries = await ledger.size();
  if (entries < found.size)
    throw mismatch(`The ledger ${name} has lost entries: ${entries} of ${found.size} are left.`);
  const proof = await ledger.consistency(kept.size, found.size);
  const { ok } = await verifyConsistency({
    logKey: ledger.logKey,
    earlier: kept.note,
    later: found.note,
    hashes: proof.map((hash) => Buffer.from(hash).toString("base64")),
  });
  if (!ok) throw mismatch(`The history of the ledger ${name} was rewritten.`);
}

function openKept(note: string, logKey: string, file: string): OpenedNote {
  try {
    return { ...openCheckpoint(note, logKey), note };
  } catch (error) {
    throw new CliError(`The checkpoint kept in ${file} is damaged: ${textOf(error)}`, {
      next: "If nobody but you could have changed it, remove it; the next command then begins anew.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}
