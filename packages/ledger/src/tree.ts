import { hash } from "node:crypto";
import { LedgerError } from "./ledger-error.ts";

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

/** Levels of the tree that one tile spans, and the leaves under it. */
const TILE_HEIGHT = 8;
const TILE_WIDTH = 2 ** TILE_HEIGHT;
const HASH_BYTES = 32;

/** Where tiles are kept. A tile is written once, when it is complete. */
export interface TileStorage {
  read(level: number, index: number): Uint8Array | undefined;
  write(level: number, index: number, tile: Uint8Array): void;
}

/** A tile that still grows: `rows[h]` holds the finished nodes `h` levels above its bottom. */
type Growing = Buffer[][];

/**
 * The tree's inner nodes in tiles of 256 by 8 levels: one write for 256 leaves, a handful of reads for a proof. Only
 * the tiles on the right edge, which still grow, are in memory.
 */
export class Tiles {
  readonly #storage: TileStorage;
  readonly #edge: Growing[] = [];
  #size = 0;

  constructor(storage: TileStorage) {
    this.#storage = storage;
  }

  /** How many leaves there are. */
  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its hash. */
  append(leaf: Buffer): void {
    this.#grow(0, leaf);
    this.#size += 1;
  }

  /**
   * Goes back to what the storage holds: `size` leaves, of which those after the last complete tile are given by hash.
   */
  restore(size: number, leafAt: (index: number) => Buffer): void {
    this.#edge.length = 0;
    this.#size = 0;
    for (let height = 0, count = size; count > 0; height += 1, count = Math.floor(count / TILE_WIDTH)) {
      const first = count - (count % TILE_WIDTH);
      const rows: Growing = emptyRows();
      for (let index = first; index < count; index += 1) {
        addTo(rows, height === 0 ? leafAt(index) : this.#topOf(height - 1, index));
      }
      this.#edge[height] = rows;
    }
    this.#size = size;
  }

  /** The hash of a complete subtree. */
  node(level: number, index: number): Uint8Array {
    const height = Math.floor(level / TILE_HEIGHT);
    const row = level % TILE_HEIGHT;
    const tile = Math.floor((index * 2 ** row) / TILE_WIDTH);
    const within = index - (tile * TILE_WIDTH) / 2 ** row;
    const rows = this.#edge[height];
    const complete = Math.floor(this.#size / TILE_WIDTH ** (height + 1));
    if (tile >= complete) {
      const found = rows?.[row]?.[within];
      if (!found) throw new RangeError(`the subtree ${index} of level ${level} is not complete`);
      return found;
    }
    return this.#stored(height, tile, row, within);
  }

  #grow(height: number, hash: Buffer): void {
    this.#edge[height] ??= emptyRows();
    const rows = this.#edge[height];
    const top = addTo(rows, hash);
    if (!top) return;
    const index = Math.floor(this.#size / TILE_WIDTH ** (height + 1));
    this.#storage.write(height, index, Buffer.concat(rows.flat()));
    this.#edge[height] = emptyRows();
    this.#grow(height + 1, top);
  }

  #topOf(height: number, tile: number): Buffer {
    const left = this.#stored(height, tile, TILE_HEIGHT - 1, 0);
    const right = this.#stored(height, tile, TILE_HEIGHT - 1, 1);
    return nodeHash(left, right);
  }

  #stored(height: number, tile: number, row: number, within: number): Uint8Array {
    const bytes = this.#storage.read(height, tile);
    if (!bytes) throw new RangeError(`tile ${tile} of height ${height} is missing`);
    const before = 2 * TILE_WIDTH - 2 ** (TILE_HEIGHT + 1 - row);
    const start = (before + within) * HASH_BYTES;
    return bytes.subarray(start, start + HASH_BYTES);
  }
}

function emptyRows(): Growing {
  return Array.from({ length: TILE_HEIGHT }, () => []);
}

/** Adds a node to the bottom row and finishes what it completes; returns the tile's root when it is full. */
function addTo(rows: Growing, hash: Buffer): Buffer | undefined {
  let node = hash;
  for (const row of rows) {
    row.push(node);
    if (row.length % 2 === 1) return undefined;
    const left = row[row.length - 2];
    if (!left) return undefined;
    node = nodeHash(left, node);
  }
  return node;
}
