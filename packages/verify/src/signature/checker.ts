import type { Bytes } from "../bytes/bytes.ts";

/** An Ed25519 signature (RFC 8032) that somebody claims to have made. */
export interface SignatureClaim {
  /** 32 bytes. */
  readonly publicKey: Bytes;
  /** 64 bytes. */
  readonly signature: Bytes;
  readonly message: Bytes;
}

/** Checks signatures. They are the slowest part of a verification, so this is where a platform lends its other cores. */
export interface SignatureChecker {
  /** Whether the claim is true. */
  check(claim: SignatureClaim): Promise<boolean>;
}
