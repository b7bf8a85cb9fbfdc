import { KEY_LENGTH } from "../keys/raw-key.ts";

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
