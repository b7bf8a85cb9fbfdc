import { sameBytes } from "../bytes/bytes.ts";
import { emptyRoot, nodeHash } from "./hashes.ts";

/** A tree as a checkpoint states it. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

/** Whether a consistency proof shows that the later tree only added to the earlier one (RFC 9162 §2.1.4.2). */
export function isConsistent(earlier: TreeHead, later: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (!Number.isSafeInteger(earlier.size) || !Number.isSafeInteger(later.size)) return false;
  if (earlier.size < 0 || earlier.size > later.size) return false;
  if (earlier.size === later.size) return proof.length === 0 && sameBytes(earlier.root, later.root);
  if (earlier.size === 0) return proof.length === 0 && sameBytes(earlier.root, emptyRoot());
  return joins(earlier, later, isPowerOfTwo(earlier.size) ? [earlier.root, ...proof] : proof);
}

function joins(earlier: TreeHead, later: TreeHead, [first, ...rest]: readonly Uint8Array[]): boolean {
  if (first === undefined) return false;
  let place = earlier.size - 1;
  let last = later.size - 1;
  while (place % 2 === 1) {
    place = Math.floor(place / 2);
    last = Math.floor(last / 2);
  }
  let [before, after] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      before = nodeHash(hash, before);
      after = nodeHash(hash, after);
      while (place % 2 === 0 && place !== 0) {
        place /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      after = nodeHash(after, hash);
    }
    place = Math.floor(place / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && sameBytes(before, earlier.root) && sameBytes(after, later.root);
}

function isPowerOfTwo(size: number): boolean {
  let rest = size;
  while (rest % 2 === 0) rest /= 2;
  return rest === 1;
}
