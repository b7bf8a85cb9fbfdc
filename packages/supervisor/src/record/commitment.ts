import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { join } from "node:path";
import { canonicalJson } from "@reins/ledger";
import { readIfThere, writeIfMissing } from "../policies/policy-home.ts";
import { SupervisorError } from "../supervisor-error.ts";

const KEY_BYTES = 32;

/**
 * Commits to what an agent sent without recording it: whoever has the key and the text can show that they belong
 * together, and nobody else can guess the text from what was recorded.
 */
export class Commitment {
  readonly #key: KeyObject;

  private constructor(key: Buffer) {
    // Prepared once: that takes longer than to commit to something.
    this.#key = createSecretKey(key);
  }

  /** The commitments of a home, whose key lies among its others; made on first use. */
  static async open(keys: string): Promise<Commitment> {
    const path = join(keys, "commitment.key");
    await writeIfMissing(path, () => `${randomBytes(KEY_BYTES).toString("hex")}\n`);
    const kept = await readIfThere(path);
    const key = Buffer.from(kept?.toString("utf8").trimEnd() ?? "", "hex");
    if (key.length === KEY_BYTES) return new Commitment(key);
    throw new SupervisorError("invalid", `the key file ${path} is damaged; bring it back from a backup`);
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${createHmac("sha256", this.#key).update(textOf(value)).digest("hex")}`;
  }
}

/** The canonical form; of what has none, such as half of a surrogate pair, the form that JavaScript gives it. */
function textOf(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value) ?? "null";
  }
}
