import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { ArtifactStore } from "@reins/ledger";

/** Where an output is stored, and the key without which it is not readable. */
export interface SealedArtifact {
  /** Of what is stored, by which the ledger links to it. */
  readonly digest: string;
  /** Of the output, in bytes. */
  readonly size: number;
  /** Base64url. */
  readonly key: string;
}

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** Each key is used once. */
const NONCE = Buffer.alloc(12);

/** Outputs in the artifact store, each under a key of its own: without its run, which is sealed, none is readable. */
export class SealedArtifacts {
  readonly #store: Pick<ArtifactStore, "put" | "get" | "erase">;

  constructor(store: Pick<ArtifactStore, "put" | "get" | "erase">) {
    this.#store = store;
  }

  async put(output: string): Promise<SealedArtifact> {
    const key = randomBytes(KEY_BYTES);
    const cipher = createCipheriv(CIPHER, key, NONCE);
    const content = Buffer.from(output);
    const sealed = Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
    const { digest } = await this.#store.put(sealed);
    return { digest, size: content.length, key: key.toString("base64url") };
  }

  /** The output; `undefined` where it was erased. */
  async get({ digest, key }: SealedArtifact): Promise<string | undefined> {
    const sealed = await this.#store.get(digest);
    if (!sealed) return undefined;
    const end = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, Buffer.from(key, "base64url"), NONCE).setAuthTag(
      sealed.subarray(end),
    );
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]).toString("utf8");
  }

  async erase({ digest }: SealedArtifact): Promise<void> {
    await this.#store.erase(digest);
  }
}
