import { LedgerError } from "./ledger-error.ts";
import type { LedgerSigner } from "./signers.ts";

/** Sees to it that every key is announced in the ledger once, before it signs anything else. */
export class Announcements {
  readonly #write: (signer: LedgerSigner, holder: string) => Promise<void>;
  readonly #announced = new Map<string, Promise<void>>();
  readonly #retired = new Set<string>();

  constructor(write: (signer: LedgerSigner, holder: string) => Promise<void>) {
    this.#write = write;
  }

  /** Announces a key unless that was done; refuses one that signs no more. */
  async announce(signer: LedgerSigner, holder: string): Promise<void> {
    if (this.#retired.has(signer.keyId)) throw ofAnotherTime(signer.keyId, holder);
    const known = this.#announced.get(signer.keyId);
    if (known) return known;
    const written = this.#write(signer, holder);
    this.#announced.set(signer.keyId, written);
    written.catch(() => this.#announced.delete(signer.keyId));
    return written;
  }

  /** Takes note of a key that the ledger knows. */
  remember(keyId: string, isRetired: boolean): void {
    this.#announced.set(keyId, Promise.resolve());
    if (isRetired) this.#retired.add(keyId);
  }

  /** Whether the ledger knows a key and does not yet know that it signs no more. */
  isInUse(keyId: string): boolean {
    return this.#announced.has(keyId) && !this.#retired.has(keyId);
  }
}

/** What a key of somebody is that the ledger does not know, or knows to sign no more: nothing it signed would verify. */
export function ofAnotherTime(keyId: string, holder: string): LedgerError {
  const text = `the ledger knows no key ${keyId} of ${holder} that may sign: keys and database are not of the same time; bring back both from one backup`;
  return new LedgerError("conflict", text);
}
