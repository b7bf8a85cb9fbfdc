import type { Cid, LedgerEntry } from "../entry/entry.ts";
import { announcedKeys } from "../keys/announced-keys.ts";
import { LedgerError } from "../ledger-error.ts";
import type { LedgerReader, PlacedEntry } from "../ledger-reader.ts";

/** An entry and the way from it to the root of a checkpoint. */
interface Proven {
  readonly entry: LedgerEntry;
  readonly index: number;
  readonly hashes: readonly string[];
}

/** Proves that an entry is in a ledger, with no ledger at hand. */
interface ProofFile extends Proven {
  readonly format: "reins-proof/1";
  readonly log_key: string;
  readonly checkpoint: string;
  /** The announcement of the key that signed the entry. */
  readonly key: Proven | null;
}

/** Makes the proof of an entry against the newest checkpoint. */
export async function proveEntry(ledger: LedgerReader, cid: Cid): Promise<ProofFile> {
  const found = await ledger.get(cid);
  if (!found) throw new LedgerError("not_found", `there is no entry ${cid}`);
  const { size, note } = await ledger.checkpoint();
  const announcement = await announcementOf(ledger, found.entry);
  return {
    format: "reins-proof/1",
    log_key: ledger.logKey,
    checkpoint: note,
    ...(await proven(ledger, found, size)),
    key: announcement && announcement.seq !== found.seq ? await proven(ledger, announcement, size) : null,
  };
}

async function proven(ledger: LedgerReader, { seq, entry }: PlacedEntry, size: number): Promise<Proven> {
  const hashes = await ledger.inclusion(seq, size);
  return { entry, index: seq, hashes: hashes.map((hash) => Buffer.from(hash).toString("base64")) };
}

async function announcementOf(
  ledger: LedgerReader,
  { proof }: LedgerEntry,
): Promise<PlacedEntry | undefined> {
  if (proof?.type !== "attestation") return undefined;
  const key = (await announcedKeys(ledger)).find(({ key_id }) => key_id === proof.key_id);
  const [announcement] = key ? await ledger.read({ after: key.added - 1, limit: 1 }) : [];
  return announcement;
}
