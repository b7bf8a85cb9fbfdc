import { emptyRoot, nodeHash } from "./hashes.ts";

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
