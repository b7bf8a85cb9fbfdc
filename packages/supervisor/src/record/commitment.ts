import { exactJson } from "@reins/ledger";
import { KeyedHash } from "./keyed-hash.ts";
import { secretKeys } from "./secret-key.ts";

/**
 * Commits to what an agent sent without recording it: whoever has the key and the text can show that they belong
 * together, and nobody else can guess the text from what was recorded.
 */
export class Commitment {
  readonly #hash: KeyedHash;

  private constructor(key: Buffer) {
    this.#hash = new KeyedHash(key);
  }

  /** The commitments of a home, whose key lies among its others; made on first use. */
  static async open(keys: string): Promise<Commitment> {
    const [key] = await secretKeys(keys, "commitment.key");
    return new Commitment(key);
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${this.#hash.of(textOf(value))}`;
  }

  /** 64 hexadecimal digits by which a text is found again for one purpose, and from which it cannot be guessed. */
  digest(purpose: string, text: string): string {
    // No JSON begins like that, so no digest is a commitment.
    return this.#hash.of(`${purpose}\0${text}`);
  }
}

/** The canonical form; of what has none, such as half of a surrogate pair, the form that JavaScript gives it. */
function textOf(value: unknown): string {
  try {
    return exactJson(value);
  } catch {
    return JSON.stringify(value) ?? "null";
  }
}
