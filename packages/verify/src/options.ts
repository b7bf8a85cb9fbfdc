import { type Checkpoint, type LogKey, readCheckpoint, readLogKey } from "./note.ts";
import { VerifyError } from "./report.ts";

/** How far a verification has come. */
export interface Progress {
  readonly entries: number;
  /** How many there will be, by the ledger's own word. */
  readonly total: number | undefined;
}

/** What a verification is asked to do beyond looking. */
export interface VerifyOptions {
  /** The log's verifier key, `NAME+HASH+KEY`, as you know it from elsewhere. Without it the ledger's own word is taken. */
  readonly logKey?: string | undefined;
  /** A checkpoint from an earlier day, the whole signed note: the ledger has to extend what it was then. */
  readonly seen?: string | undefined;
  /** How many faults to list in full; 1,000 unless given. */
  readonly maxFaults?: number | undefined;
  /** Called every few thousand entries. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a caller trusts already. */
export interface Trust {
  readonly key: LogKey | undefined;
  readonly seen: Checkpoint | undefined;
}

/** Reads the key and the checkpoint that a caller gave. */
export function trustOf({ logKey, seen }: VerifyOptions): Trust {
  const key = logKey === undefined ? undefined : readLogKey(logKey.trim());
  if (logKey !== undefined && key === undefined) {
    throw new VerifyError("bad_option", "The log key is not a verifier key of the form NAME+HASH+KEY.");
  }
  const checkpoint = seen === undefined ? undefined : readCheckpoint(seen);
  if (seen !== undefined && checkpoint === undefined) {
    throw new VerifyError(
      "bad_option",
      "The earlier checkpoint is not one: give the whole signed note, with its last newline.",
    );
  }
  return { key, seen: checkpoint };
}
