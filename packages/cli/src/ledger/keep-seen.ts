import { readCheckpoint } from "@reins/ledger";
import { CliError } from "../errors/cli-error.ts";
import { textOf } from "../errors/render.ts";
import { EXIT } from "../exit-codes.ts";
import type { Notice } from "../notice.ts";
import { printableLine } from "../printable.ts";
import type { SeenCheckpoints, Sighting } from "./seen-checkpoints.ts";

/** Keeps what is seen in a home, which was checked, for the next time, and tells what a person should know about it. */
export async function keepSeen(
  home: string,
  sighting: Sighting,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  try {
    const before = await seen.inHome(home);
    if (before?.logKey !== sighting.logKey) await tellOfFirst(home, before, sighting, seen, notice);
    await seen.keep(home, sighting);
  } catch (error) {
    if (error instanceof CliError) throw error;
    notice(`What was seen cannot be kept, so a later change may go unnoticed: ${textOf(error)}`);
  }
}

/**
 * A home whose ledger was exchanged for another one starts a history that no checkpoint contradicts, so that is told;
 * the same ledger under another key is refused.
 */
async function tellOfFirst(
  home: string,
  before: Sighting | undefined,
  { logKey, note }: Sighting,
  seen: SeenCheckpoints,
  notice: Notice,
): Promise<void> {
  const name = nameIn(logKey);
  if (before && nameIn(before.logKey) === name) throw anotherKey(name, before.logKey, logKey);
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

function anotherKey(name: string, before: string, now: string): CliError {
  return new CliError(`The ledger ${name} is signed with another key than before.`, {
    next: [
      `Before: ${printableLine(before)}`,
      `Now:    ${printableLine(now)}`,
      "The key of a ledger never changes: this is not the ledger that was here.",
    ].join("\n"),
    exitCode: EXIT.failed,
  });
}

/** The ledger that a verifier key names, NAME+HASH+KEY. */
function nameIn(logKey: string): string {
  return printableLine(logKey.split("+", 1)[0] ?? "");
}
