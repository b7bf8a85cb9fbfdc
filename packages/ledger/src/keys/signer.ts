import { type KeyObject, sign, verify } from "node:crypto";
import { LedgerError } from "../ledger-error.ts";
import { keyIdOf } from "./key-id.ts";
import { publicBytesOf, publicKeyFrom } from "./raw-key.ts";

/** A signing key and whose it is, as plain data that can be posted to another thread. */
export interface SignerData {
  readonly holder: string;
  readonly keyId: string;
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
  /**
   * Whether the call that gave it has just made it. A crash may come before the key is announced, so the ledger, not
   * this, knows whether it was.
   */
  readonly created: boolean;
}

/** Signs on behalf of its holder. */
export interface Signer extends SignerData {
  /** The Ed25519 signature, 64 bytes. */
  sign(data: Uint8Array): Uint8Array;
}

/** The key as plain data. */
export function exportSigner({ holder, keyId, publicKey, privateKey, created }: Signer): SignerData {
  return { holder, keyId, publicKey, privateKey, created };
}

/** The signer of what {@link exportSigner} gave, in whichever thread. */
export function importSigner(data: SignerData): Signer {
  const signer = signerFrom(data.holder, data.privateKey, data.created);
  if (signer.keyId === data.keyId) return signer;
  throw new LedgerError("corrupt", `the key of ${data.holder} is not ${data.keyId} but ${signer.keyId}`);
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
  return verify(null, data, publicKeyFrom("Ed25519", publicKey), signature);
}
