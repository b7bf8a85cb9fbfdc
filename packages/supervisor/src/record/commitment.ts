import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { canonicalJson } from "@reins/ledger";
import { secretKey } from "./secret-key.ts";

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
    return new Commitment(await secretKey(keys, "commitment.key"));
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${createHmac("sha256", this.#key).update(textOf(value)).digest("hex")}`;
  }

  /** 64 hexadecimal digits by which a text is found again for one purpose, and from which it cannot be guessed. */
  digest(purpose: string, text: string): string {
    // No JSON begins like that, so no digest is a commitment.
    return createHmac("sha256", this.#key).update(`${purpose}\0`).update(text).digest("hex");
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
