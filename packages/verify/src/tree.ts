import { emptyRoot, nodeHash, sameBytes } from "./bytes.ts";

/** A growing RFC 6962 tree of which only the roots of its full subtrees are kept: as many as its size has set bits. */
export class CompactRange {
  #size = 0;
  readonly #roots: Uint8Array[] = [];

  /** How many leaves there are. */
  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its hash. */
  append(leaf: Uint8Array): void {
    let root = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) {
      root = nodeHash(this.#roots.pop() ?? emptyRoot(), root);
    }
    this.#roots.push(root);
    this.#size += 1;
  }

  /** The root of the tree as it is now. */
  root(): Uint8Array {
    return (
      this.#roots.reduceRight<Uint8Array | undefined>(
        (right, left) => (right === undefined ? left : nodeHash(left, right)),
        undefined,
      ) ?? emptyRoot()
    );
  }
}

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
