import { hash } from "node:crypto";

/** Filled and hashed in one step; a buffer for every hash would cost more than the hash. */
const leaf = Buffer.alloc(33);
const node = Buffer.alloc(65);

/** The root of a tree without leaves. */
export const EMPTY_ROOT = sha256(Buffer.alloc(0));

/** The hash of a leaf, RFC 6962. */
export function leafHash(cid: string): Buffer {
  const length = leaf.write(cid, 1, "hex");
  return sha256(leaf.subarray(0, 1 + length));
}

/** The hash of an inner node, RFC 6962. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  node[0] = 0x01;
  node.set(left, 1);
  node.set(right, 33);
  return sha256(node);
}

function sha256(data: Buffer): Buffer {
  return hash("sha256", data, "buffer");
}
