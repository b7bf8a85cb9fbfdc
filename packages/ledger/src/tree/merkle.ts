import { hash } from "node:crypto";
import { LedgerError } from "../ledger-error.ts";

/** Filled and hashed in one step; a buffer for every hash would cost more than the hash. */
const leaf = Buffer.alloc(33);
const node = Buffer.alloc(65);

/** The root of a tree without leaves. */
const EMPTY_ROOT = sha256(Buffer.alloc(0));

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

/**
 * Returns the hash of a complete subtree: the one of `2 ** level` leaves that starts at leaf `index * 2 ** level`. Asked
 * only for subtrees that are complete in the tree at hand.
 */
export type NodeSource = (level: number, index: number) => Uint8Array;

/** The root of the first `size` leaves. */
export function rootOf(size: number, node: NodeSource): Uint8Array {
  return size === 0 ? EMPTY_ROOT : rangeRoot(0, size, node);
}

/** The hash of the leaves from `start` to `end`, where `start` is a multiple of the largest power of two inside. */
function rangeRoot(start: number, end: number, node: NodeSource): Uint8Array {
  const count = end - start;
  const level = Math.log2(count);
  if (Number.isInteger(level)) return node(level, start / count);
  const split = start + largestPowerBelow(count);
  return nodeHash(rangeRoot(start, split, node), rangeRoot(split, end, node));
}

/** The largest power of two that is smaller than `count`. */
function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

/** The hashes that lead from leaf `index` to the root of the first `size` leaves, RFC 6962 §2.1.1. */
export function inclusionProof(index: number, size: number, node: NodeSource): Uint8Array[] {
  if (!(index >= 0 && index < size))
    throw new LedgerError("invalid", `there is no leaf ${index} in a tree of ${size}`);
  return path(index, 0, size, node);
}

function path(index: number, start: number, end: number, node: NodeSource): Uint8Array[] {
  if (end - start === 1) return [];
  const split = start + largestPowerBelow(end - start);
  return index < split
    ? [...path(index, start, split, node), rangeRoot(split, end, node)]
    : [...path(index, split, end, node), rangeRoot(start, split, node)];
}

/** The hashes that show that a tree of `size` leaves begins with the tree of `earlier` leaves, RFC 6962 §2.1.2. */
export function consistencyProof(earlier: number, size: number, node: NodeSource): Uint8Array[] {
  if (!(earlier >= 0 && earlier <= size)) {
    throw new LedgerError("invalid", `a tree of ${size} leaves does not extend one of ${earlier}`);
  }
  return earlier === 0 || earlier === size ? [] : subproof(earlier, 0, size, true, node);
}

function subproof(
  earlier: number,
  start: number,
  end: number,
  whole: boolean,
  node: NodeSource,
): Uint8Array[] {
  if (earlier === end) return whole ? [] : [rangeRoot(start, end, node)];
  const split = start + largestPowerBelow(end - start);
  return earlier <= split
    ? [...subproof(earlier, start, split, whole, node), rangeRoot(split, end, node)]
    : [...subproof(earlier, split, end, false, node), rangeRoot(start, split, node)];
}
