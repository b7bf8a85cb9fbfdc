import { errorMessage } from "@reins/kit";
import {
  type Checkpoint,
  LedgerError,
  type LedgerReader,
  openCheckpoint,
  readCheckpoint,
} from "@reins/ledger";
import { verifyConsistency } from "@reins/verify";
import { CliError, EXIT } from "../errors.ts";
import { type Notice, printableLine } from "../output.ts";
import { ACCEPT_LOSS, DamagedHome } from "./ledger-error.ts";
import type { SeenCheckpoint, SeenCheckpoints } from "./seen-checkpoints.ts";

type CheckedLedger = Pick<LedgerReader, "origin" | "logKey" | "size" | "checkpoint" | "consistency">;

interface OpenedNote extends Checkpoint {
  readonly note: string;
}

/**
 * Checks that the ledger of a home extends what this user last saw of it, there or elsewhere, and stores its newest
 * checkpoint. Keeps the stored one on a mismatch.
 *
 * @throws SeenMismatch when entries were removed or rewritten.
 */
export async function checkSeen(
  ledger: CheckedLedger,
  home: string,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  const { logKey } = ledger;
  // In this order: a stored checkpoint was in the ledger before, so the newest cannot be older.
  const here = await seen.inHome(home);
  const largest = await seen.largest(logKey);
  const newest = await newestOf(ledger);
  if (here?.logKey === logKey) await compare(ledger, here.note, newest, seen.fileOfHome(home));
  // A copy may be behind what was seen elsewhere, but must agree as far as it goes.
  if (
    largest !== undefined &&
    largest !== here?.note &&
    newest &&
    newest.size >= openStored(largest, logKey, seen.fileOf(logKey)).size
  )
    await compare(ledger, largest, newest, seen.fileOf(logKey));
  if (newest) await storeSeen(home, { logKey, note: newest.note }, seen, notice);
}

/** Stores the newest checkpoint of a ledger even on a mismatch. Returns what was lost, if anything. */
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
  const kept = openStored(note, ledger.logKey, file);
  const mismatch = (text: string) => new SeenMismatch(text, kept, found, file);
  if (!found || found.size < kept.size)
    throw mismatch(`The ledger ${name} is shorter than before: it was rolled back.`);
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

function openStored(note: string, logKey: string, file: string): OpenedNote {
  try {
    return { ...openCheckpoint(note, logKey), note };
  } catch (error) {
    throw new CliError(`The checkpoint stored in ${file} is damaged: ${errorMessage(error)}`, {
      next: "If only you could have changed it, remove it; the next command then starts over.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

/** Stores a checked checkpoint, with notices about what is new. */
async function storeSeen(
  home: string,
  checkpoint: SeenCheckpoint,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  try {
    const before = await seen.inHome(home);
    if (before?.logKey !== checkpoint.logKey) await noticeFirstSight(home, before, checkpoint, seen, notice);
    await seen.keep(home, checkpoint);
  } catch (error) {
    if (error instanceof CliError) throw error;
    notice(`The checkpoint cannot be stored, so a later change may go unnoticed: ${errorMessage(error)}`);
  }
}

/**
 * Reports a home whose ledger was replaced, which no checkpoint contradicts. Rejects the same ledger under another
 * key.
 */
async function noticeFirstSight(
  home: string,
  before: SeenCheckpoint | undefined,
  { logKey, note }: SeenCheckpoint,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  const name = nameIn(logKey);
  if (before && nameIn(before.logKey) === name) throw keyChanged(name, before.logKey, logKey);
  if (before)
    notice(`${home} has another ledger than before: it was ${nameIn(before.logKey)}, now it is ${name}.`);
  const largest = await seen.largest(logKey);
  if (largest === undefined) {
    const file = seen.fileOf(logKey);
    notice(
      `First look at the ledger ${name}: a change of what it says now will be noticed, by the checkpoint in ${file}`,
    );
    return;
  }
  const [size, known] = [readCheckpoint(note).size, readCheckpoint(largest).size];
  if (size < known)
    notice(`${home} has only ${size} entries of the ledger ${name}, of which ${known} were seen elsewhere.`);
}

function keyChanged(name: string, before: string, now: string): CliError {
  return new CliError(`The ledger ${name} is signed with another key than before.`, {
    next: [
      `Before: ${printableLine(before)}`,
      `Now:    ${printableLine(now)}`,
      "The key of a ledger never changes: this is not the ledger that was here.",
    ].join("\n"),
    exitCode: EXIT.failed,
  });
}

/** The name in a verifier key, NAME+HASH+KEY. */
function nameIn(logKey: string): string {
  return printableLine(logKey.split("+", 1)[0] ?? "");
}

/** Entries that were seen before were removed or rewritten. */
export class SeenMismatch extends DamagedHome {
  constructor(message: string, seen: Checkpoint, found: Checkpoint | undefined, file: string) {
    super(message, {
      next: [
        `Seen before: ${describe(seen)}`,
        `Found now:   ${found ? describe(found) : "no checkpoint at all"}`,
        "To see what is wrong with it, run: reins ledger verify",
        `The checkpoint seen before is stored in ${file}`,
        ACCEPT_LOSS,
      ].join("\n"),
      exitCode: EXIT.failed,
    });
  }
}

function describe({ origin, size, root }: Checkpoint): string {
  return printableLine(`${origin}, ${size} entries, root ${Buffer.from(root).toString("base64")}`);
}
