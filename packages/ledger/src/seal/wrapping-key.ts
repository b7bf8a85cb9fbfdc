import { diffieHellman, hkdfSync } from "node:crypto";
import { privateKeyFrom, publicKeyFrom } from "../keys/raw-key.ts";

const WRAPPING_KEY_LENGTH = 32;

/** The two public keys and the label that a wrapping key is bound to. */
export interface WrappingParties {
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
