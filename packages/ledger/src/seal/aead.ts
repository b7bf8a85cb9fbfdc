import { createCipheriv, createDecipheriv } from "node:crypto";

/** How many unpredictable bytes {@link encrypt} wants as its nonce. */
export const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/** AES-256-GCM: nonce, ciphertext and tag in one piece. A nonce is used once with a key. */
export function encrypt(
  key: Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  additional: Uint8Array,
): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(additional);
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** What was encrypted; `undefined` when key, additional data or a single bit is another. */
export function decrypt(key: Uint8Array, sealed: Uint8Array, additional: Uint8Array): Buffer | undefined {
  if (sealed.length < NONCE_LENGTH + TAG_LENGTH) return undefined;
  const nonce = sealed.subarray(0, NONCE_LENGTH);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_LENGTH });
  decipher.setAAD(additional);
  decipher.setAuthTag(sealed.subarray(-TAG_LENGTH));
  const start = decipher.update(sealed.subarray(NONCE_LENGTH, -TAG_LENGTH));
  try {
    return Buffer.concat([start, decipher.final()]);
  } catch {
    return undefined;
  }
}
