import type { LedgerSigner, Signers } from "../signers.ts";
import { type KeyFolder, LOG_HOLDER } from "./key-folder.ts";

const MAX_KEPT = 1_000;

/** The keys of a folder at hand for signing; those used lately are not read from the disk again. */
export class KeyRing implements Signers {
  readonly #folder: KeyFolder;
  readonly #kept = new Map<string, Promise<LedgerSigner>>();

  constructor(folder: KeyFolder) {
    this.#folder = folder;
  }

  signer(holder: string): Promise<LedgerSigner> {
    const known = this.#kept.get(holder);
    if (known) return known;
    const signer = this.#folder.signer(holder);
    this.#kept.set(holder, signer);
    signer.catch(() => this.#kept.delete(holder));
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > MAX_KEPT && !oldest.done) this.#kept.delete(oldest.value);
    return signer;
  }

  logSigner(): Promise<LedgerSigner> {
    return this.signer(LOG_HOLDER);
  }

  async rotate(holder: string, announce: (next: LedgerSigner) => Promise<void>): Promise<string> {
    try {
      return (await this.#folder.rotate(holder, announce)).retiredKeyId;
    } finally {
      // Even a rotation that failed may have put the new key to use.
      this.#kept.delete(holder);
    }
  }

  async retired(): Promise<readonly string[]> {
    const keys = await this.#folder.list();
    return keys.filter(({ status }) => status === "retired").map(({ keyId }) => keyId);
  }
}
