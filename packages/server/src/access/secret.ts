import { createHash } from "node:crypto";

/** Gives bytes that nobody can guess. */
export type RandomBytes = (size: number) => Uint8Array;

const SECRET_BYTES = 32;

/** A text that nobody can guess: 256 bits. */
export function newSecret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
}

/** What is kept instead of such a text. It has 256 bits, so that no key or salt is needed. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
