import { resolve } from "node:path";
import { LedgerError } from "../ledger-error.ts";
import { inTurn } from "./in-turn.ts";
import { describeKeys, type KeyDescription } from "./key-description.ts";
import { type KeyRecord, newKey } from "./key-record.ts";
import { type Ports, portsWith } from "./ports.ts";
import { PrivateFolder } from "./private-folder.ts";
import { KEY_LENGTH, privateKeyFrom } from "./raw-key.ts";
import { type Signer, signerFrom } from "./signer.ts";
import { firstSigningKeys, rotateSigningKeys, type SigningKeys, signingKeysFile } from "./signing-keys.ts";

/** How many signers are kept at hand. */
const AT_HAND = 1_000;

/** Whose the key of the log is said to be. */
const LOG = "reins:log";

/** What a rotation did. */
export interface Rotation {
  readonly signer: Signer;
  readonly retiredKeyId: string;
}

/**
 * Signing keys, held by the harness for agents, people and itself, in a folder that only its owner may reach. The file
 * of a holder changes in one step, so a key is never half there. Keys are remembered once read: whoever rotates them
 * does it here.
 */
export class KeyFolder {
  readonly #path: string;
  readonly #signing: PrivateFolder<SigningKeys>;
  readonly #log: PrivateFolder<SigningKeys>;
  readonly #ports: Ports;
  readonly #atHand = new Map<string, Signer>();
  #logAtHand: Signer | undefined;

  constructor(path: string, ports: Partial<Ports> = {}) {
    this.#path = resolve(path);
    this.#ports = portsWith(ports);
    this.#signing = new PrivateFolder(path, signingKeysFile("signing"), this.#ports);
    this.#log = new PrivateFolder(path, signingKeysFile("log"), this.#ports);
  }

  /** The signer of a holder. The first use makes the key, and exactly one caller sees it as `created`. */
  async signer(holder: string): Promise<Signer> {
    return this.#atHand.get(holder) ?? this.#keepAtHand(await this.#findOrMake(this.#signing, holder));
  }

  /** The signer of checkpoints. Others know the ledger by its key, so it is never rotated. */
  async logSigner(): Promise<Signer> {
    if (this.#logAtHand) return this.#logAtHand;
    const signer = await this.#findOrMake(this.#log, LOG);
    this.#logAtHand = { ...signer, created: false };
    return signer;
  }

  /**
   * Gives a holder a new key. `announce` is told it while the old one still signs; when it fails the old key stays, and
   * the next rotation offers the same new one. Of the old key only the public part is kept, so that what it signed can
   * be checked; the disk may hold the bytes of the old file until it needs their room.
   */
  async rotate(holder: string, announce?: (next: Signer) => Promise<void>): Promise<Rotation> {
    return inTurn(`${this.#path} rotates ${holder}`, async () => {
      const next = await this.#prepareNext(holder);
      const signer = signerOf(holder, next, true);
      await announce?.(signer);
      const retiredKeyId = await this.#signing.update(holder, (present) => {
        if (present?.next?.key_id !== next.key_id)
          throw new LedgerError("conflict", `the key of ${holder} was changed by somebody else meanwhile`);
        const content = rotateSigningKeys(present, next, this.#ports.now());
        return { content, result: present.active.key_id };
      });
      this.#keepAtHand(signer);
      return { signer, retiredKeyId };
    }).finally(() => {
      // What cannot be known for certain after a failure is read anew.
    });
  }

  /** Every key there is or was, by holder, the oldest first. */
  async list(): Promise<readonly KeyDescription[]> {
    const log = await this.#log.readAll();
    const signing = [...(await this.#signing.readAll())];
    signing.sort((left, right) => (left.holder < right.holder ? -1 : 1));
    return [
      ...log.flatMap((keys) => describeKeys(keys, "checkpoints")),
      ...signing.flatMap((keys) => describeKeys(keys, "entries")),
    ];
  }

  async #findOrMake(folder: PrivateFolder<SigningKeys>, holder: string): Promise<Signer> {
    const keys = await folder.read(holder);
    if (keys) return signerOf(holder, keys.active, false);
    return folder.update(holder, (present) => {
      if (present) return { result: signerOf(holder, present.active, false) };
      const content = firstSigningKeys(holder, this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content, result: signerOf(holder, content.active, true) };
    });
  }

  #prepareNext(holder: string): Promise<KeyRecord> {
    return this.#signing.update(holder, (present) => {
      if (!present) throw new LedgerError("not_found", `${holder} has no key to rotate`);
      if (present.next) return { result: present.next };
      const next = newKey("Ed25519", this.#ports.randomBytes(KEY_LENGTH), this.#ports.now());
      return { content: { ...present, next }, result: next };
    });
  }

  #keepAtHand(signer: Signer): Signer {
    this.#atHand.delete(signer.holder);
    this.#atHand.set(signer.holder, { ...signer, created: false });
    const [oldest] = this.#atHand.keys();
    if (oldest !== undefined && this.#atHand.size > AT_HAND) this.#atHand.delete(oldest);
    return signer;
  }
}

function signerOf(holder: string, key: KeyRecord, created: boolean): Signer {
  return signerFrom(holder, privateKeyFrom("Ed25519", Buffer.from(key.private_key, "base64")), created);
}
