import { createHasher, hash } from "blake3-jit";

/** From this length on, `hash` compiles WebAssembly, which a page's Content-Security-Policy may forbid. */
const COMPILES_FROM = 4096;

/** BLAKE3-256 of bytes. */
export function blake3(bytes: Uint8Array): Uint8Array {
  return bytes.length < COMPILES_FROM ? hash(bytes) : createHasher().update(bytes).finalize();
}

/** BLAKE3-256 of bytes that arrive in pieces. */
export function blake3Stream(): { update(bytes: Uint8Array): unknown; finalize(): Uint8Array } {
  return createHasher();
}
