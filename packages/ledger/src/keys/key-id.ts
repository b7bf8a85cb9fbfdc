import { blake3Hex } from "../blake3.ts";

/** How keys are named wherever they are used: the first 16 hexadecimal digits of BLAKE3 of the public key. */
export function keyIdOf(publicKey: Uint8Array): string {
  return blake3Hex(publicKey).slice(0, 16);
}
