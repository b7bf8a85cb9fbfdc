import type { KeyObject } from "node:crypto";

/** A key that signs, as the ledger needs it. */
export interface LedgerSigner {
  readonly keyId: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** Whoever holds the keys. */
export interface Signers {
  /** The key of an actor, made on first use. */
  signer(holder: string): Promise<LedgerSigner>;
  /** The key that signs checkpoints. */
  logSigner(): Promise<LedgerSigner>;
  /** Gives an actor a new key, which is announced while the old one still signs; gives the old key's id. */
  rotate(holder: string, announce: (next: LedgerSigner) => Promise<void>): Promise<string>;
  /** The ids of the keys that sign no more. */
  retired(): Promise<readonly string[]>;
}
