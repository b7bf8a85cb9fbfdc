import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { blake3Hex } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";

/** What precedes the 32 bytes of an Ed25519 private key in its PKCS 8 form (RFC 8410). */
const PKCS8_START = Buffer.from("302e020100300506032b657004220420", "hex");

/** The length of a private or public key. */
export const KEY_LENGTH = 32;

/** A private key from its 32 bytes. */
export function privateKeyFrom(raw: Uint8Array): KeyObject {
  assertLength(raw);
  return createPrivateKey({
    key: Buffer.concat([PKCS8_START, raw]),
    format: "der",
    type: "pkcs8",
  });
}

/** A public key from its 32 bytes. */
function publicKeyFrom(raw: Uint8Array): KeyObject {
  assertLength(raw);
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

/** The 32 bytes of the public key that belongs to a private one. */
export function publicBytesOf(privateKey: KeyObject): Uint8Array {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  return new Uint8Array(Buffer.from(x ?? "", "base64url"));
}

function assertLength(raw: Uint8Array): void {
  if (raw.length === KEY_LENGTH) return;
  throw new LedgerError("invalid", `a key is ${KEY_LENGTH} bytes long, this one is ${raw.length}`);
}

/** How keys are named wherever they are used: the first 16 hexadecimal digits of BLAKE3 of the public key. */
export function keyIdOf(publicKey: Uint8Array): string {
  return blake3Hex(publicKey).slice(0, 16);
}

/** Signs on behalf of its holder. */
export interface Signer {
  readonly holder: string;
  readonly keyId: string;
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
  /**
   * Whether the call that returned it has just made it. A crash may come before the key is announced, so the ledger, not
   * this, knows whether it was.
   */
  readonly created: boolean;
  /** The Ed25519 signature, 64 bytes. */
  sign(data: Uint8Array): Uint8Array;
}

/** A signer from its private key. */
export function signerFrom(holder: string, privateKey: KeyObject, created: boolean): Signer {
  const publicKey = publicBytesOf(privateKey);
  return {
    holder,
    keyId: keyIdOf(publicKey),
    publicKey,
    privateKey,
    created,
    sign: (data) => sign(null, data, privateKey),
  };
}

/** Whether a signature was made over that data with the private part of that key. */
export function verifySignature(publicKey: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, data, publicKeyFrom(publicKey), signature);
}
