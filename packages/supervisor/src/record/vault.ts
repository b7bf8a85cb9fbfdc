import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { join } from "node:path";
import { type Store, StoreError } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { readIfThere, writeIfDifferent, writeIfMissing } from "../policies/policy-files.ts";

/** Why something that was sealed cannot be had. */
export type VaultErrorCode =
  /** It was sealed with a key that is not the one of this home. */
  | "other_key"
  /** It was changed after it was sealed, or is where something else was sealed. */
  | "damaged";

/** What was sealed cannot be opened; trying again does not help. */
export class VaultError extends Error {
  override readonly name = "VaultError";
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

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
  /** Identifies the key that seals, and reveals nothing of it. */
  readonly keyId: string;
  readonly #folder: string;
  readonly #newest: Buffer;
  readonly #key: KeyObject;
  readonly #former: Map<string, KeyObject>;

  private constructor(folder: string, [newest, ...former]: SecretKeys) {
    this.#folder = folder;
    this.#newest = newest;
    this.#key = createSecretKey(newest);
    this.keyId = idOf(newest);
    this.#former = new Map(former.map((key) => [idOf(key), createSecretKey(key)]));
  }

  /** The vault of a home, whose keys lie among its others; made on first use. */
  static async open(folder: string): Promise<Vault> {
    return new Vault(folder, await secretKeys(folder, FILE));
  }

  /** Gives a home a new key, with which everything is sealed anew at the next start; gives its name. */
  static async rotate(folder: string): Promise<string> {
    const [newest] = await addSecretKey(folder, FILE);
    return idOf(newest);
  }

  /** The names of the keys with which nothing is sealed any more, but something may have been. */
  get formerKeys(): readonly string[] {
    return [...this.#former.keys()];
  }

  /** Forgets the former keys; what was sealed with them cannot be opened after that. */
  async forgetFormer(): Promise<void> {
    await keepSecretKey(this.#folder, FILE, this.#newest);
    this.#former.clear();
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
    const key = keyId === this.keyId ? this.#key : this.#former.get(keyId);
    if (!key) throw this.otherKey(keyId, place);
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw damaged(place);
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(end));
    try {
      const opened = [decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()];
      return Buffer.concat(opened).toString("utf8");
    } catch (error) {
      throw damaged(place, error);
    }
  }

  /** What was sealed for a place, sealed with the newest key; nothing where it cannot be opened. */
  renew(place: string, sealed: string): string | undefined {
    try {
      return this.seal(place, this.open(place, sealed));
    } catch (error) {
      if (error instanceof VaultError) return undefined;
      throw error;
    }
  }

  /** The error for what was sealed with another key. */
  otherKey(keyId: string, what: string): VaultError {
    const text = `${what}: sealed with the key ${keyId}, and this home has ${this.keyId}; bring keys/${FILE} back from a backup`;
    return new VaultError("other_key", text);
  }
}

function idOf(key: Buffer): string {
  const id = hkdfSync("sha256", key, "", "reins vault: the name of the key", ID_BYTES);
  return Buffer.from(id).toString("hex");
}

function damaged(place: string, cause?: unknown): VaultError {
  const text = `what is sealed at ${place} was changed, or was sealed for another place; bring reins.db back from a backup`;
  return new VaultError("damaged", text, { cause });
}

/**
 * Removes what was sealed with former keys from the files of a store. Returns false, after reporting it, when a reader
 * or a full disk prevents that; the next start tries again.
 */
export async function scrubbed(
  store: Pick<Store, "scrub">,
  onError: (error: unknown) => void,
): Promise<boolean> {
  try {
    await store.scrub();
    return true;
  } catch (error) {
    if (!(error instanceof StoreError) || !error.retryable) throw error;
    const text = `what was sealed with a former key is still in the files of the database, until the next start: ${error.message}`;
    onError(new StoreError(error.code, text, { cause: error }));
    return false;
  }
}

const KEY_BYTES = 32;

/** The newest key of a file, and those that it took the place of. */
type SecretKeys = readonly [newest: Buffer, ...former: Buffer[]];

/** The keys in a file of a home, among the others that only its owner may reach; the first is made on first use. */
export async function secretKeys(folder: string, file: string): Promise<SecretKeys> {
  const path = join(folder, file);
  await writeIfMissing(path, () => keyFileText([newKey()]));
  const text = (await readIfThere(path))?.toString("utf8").trimEnd() ?? "";
  const [newest, ...former] = text.split("\n").map((line) => Buffer.from(line, "hex"));
  if (newest && [newest, ...former].every(({ length }) => length === KEY_BYTES)) return [newest, ...former];
  throw new SupervisorError("invalid", `the key file ${path} is damaged; bring it back from a backup`);
}

/** Puts a new key before those that are there. */
async function addSecretKey(folder: string, file: string): Promise<SecretKeys> {
  const keys: SecretKeys = [newKey(), ...(await secretKeys(folder, file))];
  await writeIfDifferent(join(folder, file), keyFileText(keys));
  return keys;
}

/** Forgets every key but one. */
async function keepSecretKey(folder: string, file: string, key: Buffer): Promise<void> {
  await writeIfDifferent(join(folder, file), keyFileText([key]));
}

function newKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

function keyFileText(keys: readonly Buffer[]): string {
  return keys.map((key) => `${key.toString("hex")}\n`).join("");
}
