import { isRecord } from "./is-record.ts";
import type { LedgerSigner } from "./ledger.ts";

/** Sees to it that every key is announced in the ledger once, before it signs anything else. */
export class Announcements {
  readonly #write: (signer: LedgerSigner, holder: string) => Promise<void>;
  readonly #announced = new Map<string, Promise<void>>();

  constructor(write: (signer: LedgerSigner, holder: string) => Promise<void>) {
    this.#write = write;
  }

  /** Announces a key unless that was done. */
  announce(signer: LedgerSigner, holder: string): Promise<void> {
    const known = this.#announced.get(signer.keyId);
    if (known) return known;
    const written = this.#write(signer, holder);
    this.#announced.set(signer.keyId, written);
    written.catch(() => this.#announced.delete(signer.keyId));
    return written;
  }

  /** Takes note of an announcement found in the ledger. */
  remember(payload: unknown): void {
    if (!isRecord(payload) || payload.change !== "key_added" || typeof payload.key_id !== "string") return;
    this.#announced.set(payload.key_id, Promise.resolve());
  }
}
