import { createBLAKE3 } from "hash-wasm";

const hasher = await createBLAKE3();

/** BLAKE3-256 as 64 lower-case hexadecimal digits. One hasher serves all, in one step, so calls cannot mix. */
export function blake3Hex(data: string | Uint8Array): string {
  return hasher.init().update(data).digest("hex");
}
