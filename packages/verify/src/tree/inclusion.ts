import { nodeHash } from "./hashes.ts";

/**
 * The root that follows from a leaf, its place and an inclusion proof (RFC 9162 §2.1.3.2); nothing when the proof has
 * the wrong length for that place.
 */
export function rootFromInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
): Uint8Array | undefined {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size)) return undefined;
  if (index < 0 || index >= size) return undefined;
  let place = index;
  let last = size - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0) return undefined;
    if (place % 2 === 1 || place === last) {
      root = nodeHash(sibling, root);
      // A node without a right sibling rises until it is one.
      while (place % 2 === 0 && place !== 0) {
        place /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      root = nodeHash(root, sibling);
    }
    place = Math.floor(place / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? root : undefined;
}
