import { sha256 } from "@noble/hashes/sha2.js";
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

/** The length of a hash in the tree. */
export const HASH_LENGTH = 32;

const node = new Uint8Array(1 + 2 * HASH_LENGTH);
node[0] = 0x01;

/** The root of a tree without leaves. */
export function emptyRoot(): Uint8Array {
  return sha256(new Uint8Array(0));
}

/** RFC 6962: the hash of a leaf is SHA-256 of 0x00 and its content. */
export function leafHash(content: Uint8Array): Uint8Array {
  const leaf = new Uint8Array(1 + content.length);
  leaf.set(content, 1);
  return sha256(leaf);
}

/** RFC 6962: the hash of an inner node is SHA-256 of 0x01 and its two children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH_LENGTH);
  return sha256(node);
}
