import { hash } from "node:crypto";

/** RFC 6962's definition, word for word: MTH of a list of leaves' contents. */
export function treeRoot(leaves: readonly Uint8Array[]): Buffer {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return sha256(Buffer.of(0), first);
  const split = splitOf(leaves.length);
  return sha256(Buffer.of(1), treeRoot(leaves.slice(0, split)), treeRoot(leaves.slice(split)));
}

/** RFC 6962's PATH: the inclusion proof of a leaf. */
export function inclusionProof(index: number, leaves: readonly Uint8Array[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...inclusionProof(index, left), treeRoot(right)]
    : [...inclusionProof(index - split, right), treeRoot(left)];
}

/** RFC 6962's PROOF: the consistency proof between a tree's first leaves and all of them. */
export function consistencyProof(size: number, leaves: readonly Uint8Array[]): Buffer[] {
  return subproof(size, leaves, true);
}

function subproof(size: number, leaves: readonly Uint8Array[], known: boolean): Buffer[] {
  if (size === leaves.length) return known ? [] : [treeRoot(leaves)];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return size <= split
    ? [...subproof(size, left, known), treeRoot(right)]
    : [...subproof(size - split, right, false), treeRoot(left)];
}

/** The largest power of two below a number. */
function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  return hash("sha256", Buffer.concat(parts), "buffer");
}
