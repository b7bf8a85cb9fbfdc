import type { KeyObject } from "node:crypto";
import { SYSTEM } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";
import type { LedgerReader, PlacedEntry } from "../ledger-reader.ts";

/** A key that signs, as the ledger needs it. */
export interface LedgerSigner {
  readonly keyId: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** The holder of the signing keys. */
export interface Signers {
  /** The key of an actor, made on first use. */
  signer(holder: string): Promise<LedgerSigner>;
  /** The key that signs checkpoints. */
  logSigner(): Promise<LedgerSigner>;
  /** Makes a new key for an actor, announces it while the old one still signs, and returns the old key's id. */
  rotate(
    holder: string,
    announce: (next: LedgerSigner) => Promise<void>,
  ): Promise<{ readonly retiredKeyId: string }>;
  /** The ids of the retired keys. */
  retired(): Promise<readonly string[]>;
}

/** A key that signs entries, as the ledger records it. */
export interface AnnouncedKey {
  readonly key_id: string;
  readonly holder: string;
  readonly public_key: string;
  readonly added_at: string;
  /** The place of the entry that announces it. */
  readonly added: number;
  /** When it stopped; `null` while it signs. */
  readonly retired_at: string | null;
  /** The place of the entry after which it signs no more. */
  readonly retired: number | null;
}

const PAGE = 1_000;

/** Every key that was announced, in the order of announcement. */
export async function announcedKeys(ledger: Pick<LedgerReader, "read">): Promise<AnnouncedKey[]> {
  const keys = new Map<string, AnnouncedKey>();
  for (let after = -1; ; ) {
    const page = await ledger.read({
      tag: "key",
      quality: "policy_change",
      actor: SYSTEM,
      after,
      limit: PAGE,
    });
    for (const placed of page) take(keys, placed);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return [...keys.values()];
    after = last.seq;
  }
}

function take(keys: Map<string, AnnouncedKey>, { seq, entry }: PlacedEntry): void {
  const { payload, timestamp } = entry;
  if (typeof payload !== "object" || payload === null || !("change" in payload && "key_id" in payload))
    return;
  const { change, key_id } = payload;
  if (typeof key_id !== "string") return;
  const known = keys.get(key_id);
  if (change === "key_retired" && known) keys.set(key_id, { ...known, retired_at: timestamp, retired: seq });
  if (change !== "key_added" || known || !("holder" in payload && "public_key" in payload)) return;
  const [holder, public_key] = [String(payload.holder), String(payload.public_key)];
  const when = { added_at: timestamp, added: seq, retired_at: null, retired: null };
  keys.set(key_id, { key_id, holder, public_key, ...when });
}

/** Announces every key in the ledger once, before it signs anything else. */
export class Announcements {
  readonly #write: (signer: LedgerSigner, holder: string) => Promise<void>;
  readonly #announced = new Map<string, Promise<void>>();
  readonly #retired = new Set<string>();

  constructor(write: (signer: LedgerSigner, holder: string) => Promise<void>) {
    this.#write = write;
  }

  /** Announces a key unless it is announced already; rejects a retired one. */
  async announce(signer: LedgerSigner, holder: string): Promise<void> {
    if (this.#retired.has(signer.keyId)) throw keyMismatch(signer.keyId, holder);
    const known = this.#announced.get(signer.keyId);
    if (known) return known;
    const written = this.#write(signer, holder);
    this.#announced.set(signer.keyId, written);
    written.catch(() => this.#announced.delete(signer.keyId));
    return written;
  }

  /** Records that the ledger knows a key. */
  remember(keyId: string, isRetired: boolean): void {
    this.#announced.set(keyId, Promise.resolve());
    if (isRetired) this.#retired.add(keyId);
  }

  /** Whether the ledger knows a key and has not recorded its retirement. */
  isInUse(keyId: string): boolean {
    return this.#announced.has(keyId) && !this.#retired.has(keyId);
  }
}

/** The error for a key that the ledger does not know, or knows as retired: nothing that it signs would verify. */
export function keyMismatch(keyId: string, holder: string): LedgerError {
  const text = `the ledger knows no key ${keyId} of ${holder} that may sign: keys and database are not of the same time; bring back both from one backup`;
  return new LedgerError("conflict", text);
}
