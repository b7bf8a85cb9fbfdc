import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";

const SECRET_BYTES = 32;
const SECRET = /^reins_[A-Za-z0-9_-]{43}$/;

/** Returns cryptographically random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

/** Random bytes as text that fits into a name. */
export function randomName(randomBytes: RandomBytes, size: number): string {
  return Buffer.from(randomBytes(size)).toString("base64url");
}

/** A new secret: 256 bits, in a form that scanners for leaked secrets recognise. */
export function newSecret(randomBytes: RandomBytes): string {
  return `reins_${randomName(randomBytes, SECRET_BYTES)}`;
}

/** Whether a text has the form of a secret; whatever has not is not worth hashing. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** What is kept instead of secrets: their SHA-256 under a key of this database. What each is for is hashed along. */
export class SecretHash {
  readonly #key: KeyObject;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  /** The hash of a token's secret. */
  ofToken(secret: string): string {
    return this.#of("token", secret);
  }

  /** The hash of a child session's token. */
  ofSession(secret: string): string {
    return this.#of("session", secret);
  }

  /** What commits to a task without telling it. */
  ofTask(task: string): string {
    return this.#of("task", task);
  }

  #of(purpose: "token" | "session" | "task", text: string): string {
    return createHmac("sha256", this.#key).update(`${purpose}\n${text}`).digest("hex");
  }
}

/** Whether two hashes are one, in a time that does not tell where they differ. */
export function isSameHash(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
