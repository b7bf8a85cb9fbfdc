import { errorMessage } from "@reins/kit/errors";
import { type Report, verifyConsistency, verifyProof } from "@reins/verify";
import { LedgerProofError } from "./errors.ts";
import type { KeptCheckpoint, ProvedEntry } from "./ledger.ts";

/** Verifies the proof of an entry. */
export async function provedEntry(
  cid: string,
  file: string,
  kept: KeptCheckpoint | undefined,
): Promise<ProvedEntry> {
  const report = await verifyProof(file, { logKey: kept?.logKey });
  if (!report.ok) throw new LedgerProofError(`The proof of ${cid} does not hold: ${reasonOf(report)}`);
  const proof: { entry: { cid: unknown } } = JSON.parse(file);
  if (proof.entry.cid !== cid) throw new LedgerProofError(`The server proved another entry than ${cid}.`);
  return { file, report };
}

/** Verifies the newest checkpoint and, given one that was kept, that the ledger has only grown from it. */
export async function verifiedCheckpoint(
  now: { readonly log_key: string; readonly note: string },
  kept: KeptCheckpoint | undefined,
  grown: { readonly later: string; readonly hashes: readonly string[] } | undefined,
): Promise<KeptCheckpoint> {
  const logKey = kept?.logKey ?? now.log_key;
  if (logKey !== now.log_key)
    throw new LedgerProofError(`The ledger is signed with ${now.log_key}, and was with ${logKey}.`);
  const { later, hashes } = grown ?? { later: now.note, hashes: [] };
  const claim = { logKey, earlier: kept?.note ?? later, later, hashes };
  const report = await verifyConsistency(claim).catch((error: unknown) => {
    throw new LedgerProofError(`A checkpoint is damaged: ${errorMessage(error)}`, { cause: error });
  });
  if (!report.ok) throw new LedgerProofError(`The ledger was changed: ${reasonOf(report)}`);
  // The second line of a note is its size.
  return { logKey, size: Number(later.split("\n")[1]), note: later };
}

function reasonOf({ faults }: Pick<Report, "faults">): string {
  return faults.map(({ message }) => message).join("; ");
}
