import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { LedgerError } from "../ledger-error.ts";

/** The curves in use: Edwards for signing, Montgomery for sealing. */
export type Curve = "Ed25519" | "X25519";

/** What stands before the 32 bytes of a private key in its PKCS 8 form (RFC 8410). */
const PKCS8_START: Readonly<Record<Curve, Uint8Array>> = {
  Ed25519: Buffer.from("302e020100300506032b657004220420", "hex"),
  X25519: Buffer.from("302e020100300506032b656e04220420", "hex"),
};

/** The length of a private or public key of either curve. */
export const KEY_LENGTH = 32;

/** A private key from its 32 bytes. */
export function privateKeyFrom(curve: Curve, raw: Uint8Array): KeyObject {
  assertLength(raw);
  return createPrivateKey({
    key: Buffer.concat([PKCS8_START[curve], raw]),
    format: "der",
    type: "pkcs8",
  });
}

/** A public key from its 32 bytes. */
export function publicKeyFrom(curve: Curve, raw: Uint8Array): KeyObject {
  assertLength(raw);
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: curve, x }, format: "jwk" });
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
