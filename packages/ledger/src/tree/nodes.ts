import { EMPTY_ROOT, nodeHash } from "./hash.ts";

/**
 * Gives the hash of a complete subtree: the one of `2 ** level` leaves that starts at leaf `index * 2 ** level`. Asked
 * only for subtrees that are complete in the tree at hand.
 */
export type NodeSource = (level: number, index: number) => Uint8Array;

/** The root of the first `size` leaves. */
export function rootOf(size: number, node: NodeSource): Uint8Array {
  return size === 0 ? EMPTY_ROOT : rangeRoot(0, size, node);
}

/** The hash of the leaves from `start` to `end`, where `start` is a multiple of the largest power of two inside. */
export function rangeRoot(start: number, end: number, node: NodeSource): Uint8Array {
  const count = end - start;
  const level = Math.log2(count);
  if (Number.isInteger(level)) return node(level, start / count);
  const split = start + largestPowerBelow(count);
  return nodeHash(rangeRoot(start, split, node), rangeRoot(split, end, node));
}

/** The largest power of two that is smaller than `count`. */
export function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}
