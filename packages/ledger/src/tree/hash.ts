import { hash } from "node:crypto";

const LEAF = Buffer.of(0x00);
const NODE = Buffer.of(0x01);

/** The root of a tree without leaves. */
export const EMPTY_ROOT = sha256(Buffer.alloc(0));

/** The hash of a leaf, RFC 6962. */
export function leafHash(cid: string): Buffer {
  return sha256(Buffer.concat([LEAF, Buffer.from(cid, "hex")]));
}

/** The hash of an inner node, RFC 6962. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return sha256(Buffer.concat([NODE, left, right], 65));
}

function sha256(data: Buffer): Buffer {
  return hash("sha256", data, "buffer");
}
