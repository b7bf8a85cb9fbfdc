import type { Fault } from "./fault.ts";

/** What became of a comparison with a checkpoint from an earlier day. */
export interface SeenResult {
  /** Whether the comparison could be made. */
  readonly checked: boolean;
  /** Whether the ledger is the one that was seen, with at most entries added. */
  readonly holds: boolean;
  /** How many entries the ledger had then. */
  readonly size?: number;
}

/** What was found. */
export interface Report {
  /** Whether everything holds. */
  readonly ok: boolean;
  /** How many entries were read. */
  readonly entries: number;
  /** How many checkpoints were read. */
  readonly checkpoints: number;
  /** How many signatures under entries were checked and hold. */
  readonly signatures: number;
  /** How many pieces of private content are not at hand, so that only their digests are known. */
  readonly withheld: number;
  /** The verifier key that checkpoints were checked with. */
  readonly logKey: string | null;
  /** Whether the caller gave that key; otherwise it is the ledger's own word. */
  readonly pinned: boolean;
  /** The last checkpoint that holds: keep it, and give it as `seen` the next time. */
  readonly checkpoint: string | null;
  readonly seen: SeenResult;
  readonly faults: readonly Fault[];
  /** How many faults there are beyond those listed. */
  readonly unlisted: number;
  /** What a verdict of "ok" does not cover. */
  readonly remarks: readonly string[];
}
