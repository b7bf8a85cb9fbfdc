import { isRecord } from "./is-record.ts";
import type { LedgerSigner } from "./signers.ts";

/** Sees to it that every key is announced in the ledger once, before it signs anything else. */
export class Announcements {
  readonly #write: (signer: LedgerSigner, holder: string) => Promise<void>;
  readonly #announced = new Map<string, Promise<void>>();
  readonly #retired = new Set<string>();

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
    if (!isRecord(payload) || typeof payload.key_id !== "string") return;
    if (payload.change === "key_added") this.#announced.set(payload.key_id, Promise.resolve());
    if (payload.change === "key_retired") this.#retired.add(payload.key_id);
  }

  /** Whether the ledger knows a key and does not yet know that it signs no more. */
  isInUse(keyId: string): boolean {
    return this.#announced.has(keyId) && !this.#retired.has(keyId);
  }
}
