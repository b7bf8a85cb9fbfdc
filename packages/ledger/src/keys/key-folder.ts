import { LedgerError } from "../ledger-error.ts";
import { type Ports, portsWith } from "./ports.ts";
import { PrivateFolder } from "./private-folder.ts";
import { KEY_LENGTH, privateKeyFrom } from "./raw-key.ts";
import { type Signer, signerFrom } from "./signer.ts";
import { firstSigningKeys, rotateSigningKeys, type SigningKeys, signingKeysFile } from "./signing-keys.ts";

/** The holder of the key that signs checkpoints. Others know the ledger by it, so it is never rotated. */
export const LOG_HOLDER = "reins:log";

/** A signing key as others may see it. */
export interface KeyDescription {
  readonly keyId: string;
  readonly holder: string;
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly status: "active" | "retired";
  readonly createdAt: string;
  /** When it stopped signing; `null` while it signs. */
  readonly retiredAt: string | null;
}

/** What a rotation did. */
export interface Rotation {
  readonly signer: Signer;
  readonly retiredKeyId: string;
}

/**
 * Signing keys, held by the harness for agents, people and itself, in a folder that only its owner may reach. The file
 * of a holder changes in one step, so a key is never half there. Each call reads the disk: keep the signer of a holder
 * who signs often.
 */
export class KeyFolder {
  readonly #folder: PrivateFolder<SigningKeys>;
  readonly #ports: Ports;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#ports = portsWith(ports);
    this.#folder = new PrivateFolder(path, signingKeysFile, this.#ports);
  }

  /** The signer of a holder. The first use makes the key, and exactly one caller sees it as `created`. */
  async signer(holder: string): Promise<Signer> {
    const keys = await this.#folder.read(holder);
    if (keys) return signerOf(keys, false);
    return this.#folder.update(holder, (present) => {
      if (present) return { result: signerOf(present, false) };
      const content = firstSigningKeys(holder, this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content, result: signerOf(content, true) };
    });
  }

  /**
   * Gives a holder a new key. Of the old one only the public part stays, so that what it signed can be checked; the
   * disk may keep the bytes of the old file until it needs their room.
   */
  async rotate(holder: string): Promise<Rotation> {
    if (holder === LOG_HOLDER)
      throw new LedgerError("invalid", "the key of the log stays: every checkpoint is known by it");
    return this.#folder.update(holder, (present) => {
      if (!present) throw new LedgerError("not_found", `${holder} has no key to rotate`);
      const content = rotateSigningKeys(present, this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content, result: { signer: signerOf(content, true), retiredKeyId: present.active.key_id } };
    });
  }

  /** Every key there is or was, by holder, the oldest first. */
  async list(): Promise<readonly KeyDescription[]> {
    const all = [...(await this.#folder.readAll())];
    return all.sort((left, right) => (left.holder < right.holder ? -1 : 1)).flatMap(describe);
  }
}

function signerOf({ holder, active }: SigningKeys, created: boolean): Signer {
  const seed = Buffer.from(active.private_key, "base64");
  return signerFrom(holder, privateKeyFrom("Ed25519", seed), created);
}

function describe({ holder, active, retired }: SigningKeys): KeyDescription[] {
  return [...retired, { ...active, retired_at: null }].map((key) => ({
    keyId: key.key_id,
    holder,
    publicKey: new Uint8Array(Buffer.from(key.public_key, "base64")),
    status: key.retired_at === null ? "active" : "retired",
    createdAt: key.created_at,
    retiredAt: key.retired_at,
  }));
}
