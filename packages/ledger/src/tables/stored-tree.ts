import type { Database } from "@reins/store";
import { LedgerError } from "../ledger-error.ts";
import { leafHash } from "../tree/merkle.ts";
import { type TileShelf, Tiles } from "../tree/tiles.ts";

/** Tiles of 16 KB that stay at hand: a proof asks the same few again and again. */
const MAX_AT_HAND = 64;

/** Keeps the tree's tiles in the database. A complete tile never changes, unless its writing is undone. */
function shelfIn(database: Database, atHand: Map<string, Uint8Array>): TileShelf {
  const read = database.prepare("SELECT bytes FROM ledger_tiles WHERE height = ? AND tile = ?");
  const write = database.prepare("INSERT INTO ledger_tiles (height, tile, bytes) VALUES (?, ?, ?)");
  return {
    read(height, tile) {
      const key = `${height}/${tile}`;
      const known = atHand.get(key);
      if (known) return known;
      const row = read.get(height, tile);
      if (typeof row !== "object" || row === null || !("bytes" in row)) return undefined;
      if (!(row.bytes instanceof Uint8Array)) return undefined;
      const oldest = atHand.keys().next();
      if (atHand.size >= MAX_AT_HAND && !oldest.done) atHand.delete(oldest.value);
      atHand.set(key, row.bytes);
      return row.bytes;
    },
    write: (height, tile, bytes) => void write.run(height, tile, bytes),
  };
}

/** The tree over the entries of a database. */
export class StoredTree {
  readonly tiles: Tiles;
  readonly #count: () => number;
  readonly #leafAt: (seq: number) => Buffer;
  readonly #atHand = new Map<string, Uint8Array>();

  constructor(database: Database) {
    this.tiles = new Tiles(shelfIn(database, this.#atHand));
    const last = database.prepare("SELECT max(seq) AS last FROM ledger_entries");
    const cid = database.prepare("SELECT cid FROM ledger_entries WHERE seq = ?");
    this.#count = () => sizeFrom(last.get());
    this.#leafAt = (seq) => leafHash(cidFrom(cid.get(seq), seq));
  }

  /** How many entries the database holds now. */
  get stored(): number {
    return this.#count();
  }

  /** Reads the tree of the first `size` entries from the database. */
  restore(size = this.#count()): Tiles {
    this.#atHand.clear();
    this.tiles.restore(size, this.#leafAt);
    return this.tiles;
  }
}

function sizeFrom(row: unknown): number {
  const last = typeof row === "object" && row !== null && "last" in row ? row.last : null;
  return last === null ? 0 : Number(last) + 1;
}

function cidFrom(row: unknown, seq: number): string {
  if (typeof row === "object" && row !== null && "cid" in row) return String(row.cid);
  throw new LedgerError("corrupt", `entry ${seq} is missing`);
}
