import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { canonicalJson } from "@reins/ledger";
import { readKept, writeKept } from "../../../ledger/kept-file.ts";

const KEY_BYTES = 32;

/**
 * Commits to what an agent sent without recording it: whoever has the key and the text can show that they belong
 * together, and nobody else can guess the text from what was recorded.
 */
export class Commitment {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** The commitments of a home, whose key lies among its others; made on first use. */
  static async open(keys: string): Promise<Commitment> {
    const path = join(keys, "commitment.key");
    const kept = await readKept(path);
    if (kept === undefined) {
      const key = randomBytes(KEY_BYTES);
      await writeKept(path, `${key.toString("hex")}\n`);
      return new Commitment(key);
    }
    const key = Buffer.from(kept.trimEnd(), "hex");
    if (key.length === KEY_BYTES) return new Commitment(key);
    throw new Error(`the key file ${path} is damaged; bring it back from a backup`);
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${createHmac("sha256", this.#key).update(canonicalJson(value)).digest("hex")}`;
  }
}
