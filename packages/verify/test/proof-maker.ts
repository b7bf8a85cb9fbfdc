import type { JsonObject } from "../src/json/parse.ts";
import type { LedgerMaker } from "./ledger-maker.ts";
import { inclusionProof } from "./merkle.ts";

/** A proof file for an entry, by the words of the format; `keySeq` is the entry that announced the key that signed it. */
export function proofOf(ledger: LedgerMaker, seq: number, keySeq?: number): JsonObject {
  return {
    format: "reins-proof/1",
    log_key: ledger.logKey,
    checkpoint: ledger.checkpoints.at(-1)?.note ?? "",
    ...included(ledger, seq),
    key: keySeq === undefined ? null : included(ledger, keySeq),
  };
}

function included(ledger: LedgerMaker, index: number): JsonObject {
  const hashes = inclusionProof(index, ledger.leaves).map((hash) => hash.toString("base64"));
  return { entry: ledger.entries[index] ?? null, index, hashes };
}
