import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { secretKey } from "./secret-key.ts";
import { VaultError } from "./vault-error.ts";

const FILE = "vault.key";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 4;
const SEALED = /^v1\.([0-9a-f]{8})\.([\w-]+)$/;

/**
 * Seals what has to outlive a restart exactly as it is, so that it lies on the disk without its secrets being readable
 * there. What was sealed for one place is opened at that place only.
 */
export class Vault {
  /** Tells the key of this home from another's, and nothing of it. */
  readonly keyId: string;
  readonly #key: KeyObject;

  private constructor(key: Buffer) {
    this.#key = createSecretKey(key);
    const id = hkdfSync("sha256", key, "", "reins vault: the name of the key", ID_BYTES);
    this.keyId = Buffer.from(id).toString("hex");
  }

  /** The vault of a home, whose key lies among its others; made on first use. */
  static async open(keys: string): Promise<Vault> {
    return new Vault(await secretKey(keys, FILE));
  }

  /** Text that only this vault opens, and only at the place that is named: a table and a row of it. */
  seal(place: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(place));
    const sealed = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
    return `v1.${this.keyId}.${Buffer.concat(sealed).toString("base64url")}`;
  }

  /** The text that was sealed for a place. Throws {@link VaultError} for anything else. */
  open(place: string, sealed: string): string {
    const [, keyId, text = ""] = SEALED.exec(sealed) ?? [];
    if (keyId === undefined) throw damaged(place);
    if (keyId !== this.keyId) throw this.otherKey(keyId, place);
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw damaged(place);
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(end));
    try {
      const opened = [decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()];
      return Buffer.concat(opened).toString("utf8");
    } catch (error) {
      throw damaged(place, error);
    }
  }

  /** Says that something was sealed with another key, and what to do. */
  otherKey(keyId: string, what: string): VaultError {
    const text = `${what}: sealed with the key ${keyId}, and this home has ${this.keyId}; bring keys/${FILE} back from a backup`;
    return new VaultError("other_key", text);
  }
}

function damaged(place: string, cause?: unknown): VaultError {
  const text = `what is sealed at ${place} was changed, or was sealed for another place; bring reins.db back from a backup`;
  return new VaultError("damaged", text, { cause });
}
