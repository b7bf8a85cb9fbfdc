import { createCipheriv, createDecipheriv, diffieHellman, hkdfSync } from "node:crypto";
import { KEY_LENGTH, privateKeyFrom, publicKeyFrom } from "../keys/signer.ts";

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

const WRAPPING_KEY_LENGTH = 32;

/** The two public keys and the label that a wrapping key is bound to. */
interface WrappingParties {
  readonly ephemeral: Uint8Array;
  readonly audience: Uint8Array;
  readonly label: string;
}

/** What both sides of a seal compute, each from its own private key and the other's public one. */
export function sharedSecret(privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return diffieHellman({
    privateKey: privateKeyFrom("X25519", privateKey),
    publicKey: publicKeyFrom("X25519", publicKey),
  });
}

/** The key under which a content key is wrapped: HKDF-SHA256 of the shared secret. */
export function wrappingKey(secret: Uint8Array, { ephemeral, audience, label }: WrappingParties): Uint8Array {
  const salt = Buffer.concat([ephemeral, audience]);
  return new Uint8Array(hkdfSync("sha256", secret, salt, `reins seal v1\n${label}`, WRAPPING_KEY_LENGTH));
}

/** The parts of an envelope's `encrypted_key`. */
export interface EncryptedKey {
  /** The audience key it is for. */
  readonly keyId: string;
  /** The public key made for this envelope alone. */
  readonly ephemeral: Uint8Array;
  /** The content key, encrypted. */
  readonly wrapped: Uint8Array;
}

const FORM = /^v1\.([0-9a-f]{16})\.([\w-]+)\.([\w-]+)$/;

/** The text of an encrypted key. */
export function printEncryptedKey({ keyId, ephemeral, wrapped }: EncryptedKey): string {
  return `v1.${keyId}.${toBase64url(ephemeral)}.${toBase64url(wrapped)}`;
}

/** The parts of an encrypted key; `undefined` when it is none. */
export function parseEncryptedKey(text: string): EncryptedKey | undefined {
  const [, keyId, ephemeralText, wrappedText] = FORM.exec(text) ?? [];
  const ephemeral = fromBase64url(ephemeralText ?? "");
  const wrapped = fromBase64url(wrappedText ?? "");
  if (keyId === undefined || ephemeral?.length !== KEY_LENGTH || wrapped === undefined) return undefined;
  return { keyId, ephemeral, wrapped };
}

/** Base64url without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** The bytes of the one text that stands for them; `undefined` for any other text. */
export function fromBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
