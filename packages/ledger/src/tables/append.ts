import type { Database, Statement } from "@reins/store";
import { bodyOf, bodyWith, cidOf, excerptOf } from "../canonical.ts";
import type { Cid, EntryQuality, PreparedEntry } from "../entry.ts";
import { LedgerError } from "../ledger-error.ts";
import { leafHash, type TileStorage, Tiles } from "../tree.ts";
import { type Checkpoints, entryPacker } from "./schema.ts";
import type { ImportArgs } from "./tables.ts";

/** The ends of one chain: its last entry, and its last turn. */
interface Ends {
  last: Cid | undefined;
  turn: Cid | undefined;
}

interface CidRow {
  readonly cid: Cid;
}

const MAX_REMEMBERED = 10_000;

/** Knows what the next entry of each chain follows. The most recent chains are remembered, the others looked up. */
class Chains {
  readonly #ends = new Map<string, Ends>();
  readonly #findLast: Statement<CidRow>;
  readonly #findTurn: Statement<CidRow>;

  constructor(database: Database) {
    this.#findLast = database.prepare(
      "SELECT cid FROM ledger_entries WHERE entity_id = ? ORDER BY seq DESC LIMIT 1",
    );
    this.#findTurn = database.prepare(
      "SELECT cid FROM ledger_entries WHERE entity_id = ? AND +quality = 'turn' ORDER BY seq DESC LIMIT 1",
    );
  }

  /** A turn follows the turn before it; anything else the entry before it. */
  parentsOf(entity_id: string, quality: EntryQuality): readonly Cid[] {
    const { last, turn } = this.#endsOf(entity_id);
    const parent = quality === "turn" ? turn : last;
    return parent === undefined ? [] : [parent];
  }

  /** Notes that an entry was added. */
  advance(entity_id: string, quality: EntryQuality, cid: Cid): void {
    const ends = this.#endsOf(entity_id);
    ends.last = cid;
    if (quality === "turn") ends.turn = cid;
  }

  /** Looks everything up again. */
  forget(): void {
    this.#ends.clear();
  }

  #endsOf(entity_id: string): Ends {
    const known = this.#ends.get(entity_id);
    const ends = known ?? this.#find(entity_id);
    if (known) this.#ends.delete(entity_id);
    this.#ends.set(entity_id, ends);
    const oldest = this.#ends.keys().next();
    if (this.#ends.size > MAX_REMEMBERED && !oldest.done) this.#ends.delete(oldest.value);
    return ends;
  }

  /** A chain without any entry, as that of each new session, has no turn either. */
  #find(entity_id: string): Ends {
    const last = this.#findLast.get(entity_id)?.cid;
    return { last, turn: last === undefined ? undefined : this.#findTurn.get(entity_id)?.cid };
  }
}

/** What an entry was given when it was written; its place in the tree is fixed later where several nodes write. */
export interface Appended {
  readonly cid: Cid;
  readonly parents: readonly Cid[];
}

/** Writes entries: finds their parents, signs, names, stores and adds them to the tree. */
export class Appender {
  readonly #chains: Chains;
  readonly #tiles: Tiles;
  readonly #index: EntryIndex;
  readonly #insert: Statement;
  readonly #insertRecent: Statement;

  constructor(database: Database, tiles: Tiles, index: EntryIndex) {
    this.#chains = new Chains(database);
    this.#tiles = tiles;
    this.#index = index;
    this.#insert = database.prepare(
      "INSERT INTO ledger_entries (seq, cid, entity_id, quality, actor, timestamp, body, packed) VALUES (?, ?, ?, ?, ?, ?, '', ?)",
    );
    this.#insertRecent = database.prepare("INSERT INTO ledger_recent (seq, body) VALUES (?, ?)");
  }

  /** Writes one entry at the end of its chain. */
  append(entry: PreparedEntry): Appended {
    const parents = this.#chains.parentsOf(entry.entity_id, entry.quality);
    const body = bodyWith(entry, parents);
    const cid = cidOf(body);
    this.store(entry, cid, body);
    return { cid, parents };
  }

  /** Writes an entry whose name and body are known. */
  store(
    entry: Pick<PreparedEntry, "entity_id" | "quality" | "actor" | "timestamp" | "excerpt">,
    cid: Cid,
    body: string,
  ): number {
    const { entity_id, quality, actor, timestamp, excerpt } = entry;
    const seq = this.#tiles.size;
    this.#insert.run(seq, cid, entity_id, quality, actor, timestamp, entryPacker.pack(body));
    this.#insertRecent.run(seq, excerpt);
    this.#tiles.append(leafHash(cid));
    this.#index.added();
    this.#chains.advance(entity_id, quality, cid);
    return seq;
  }

  /** The parents that the next entry of a chain must have. */
  parentsOf(entity_id: string, quality: PreparedEntry["quality"]): readonly Cid[] {
    return this.#chains.parentsOf(entity_id, quality);
  }

  /** Forgets what may have been undone. */
  undone(): void {
    this.#chains.forget();
  }
}

/**
 * Takes over entries and checkpoints of another copy of this ledger, each where it stands there. What is there already
 * is left alone; what does not fit ends the whole commit.
 */
export function importEntries(
  { appender, checkpoints: kept }: { appender: Appender; checkpoints: Checkpoints },
  database: Database,
  { entries, checkpoints }: ImportArgs,
): number {
  const find = database.prepare<CidRow>("SELECT cid FROM ledger_entries WHERE seq = ?");
  let added = 0;
  for (const { seq, entry } of entries) {
    const { cid, ...content } = entry;
    const body = bodyOf(content);
    if (cidOf(body) !== cid)
      throw new LedgerError("corrupt", `entry ${seq} is not what its content id ${cid} says`);
    const there = find.get(seq);
    if (there?.cid === cid) continue;
    if (there)
      throw new LedgerError("conflict", `entry ${seq} is ${there.cid} here and ${cid} in the import`);
    const parents = appender.parentsOf(content.entity_id, content.quality);
    if (JSON.stringify(parents) !== JSON.stringify(content.parents)) {
      throw new LedgerError(
        "corrupt",
        `entry ${seq} (${cid}) does not follow the entry before it in its chain`,
      );
    }
    const stored = appender.store({ ...content, excerpt: excerptOf(content) }, cid, body);
    if (stored !== seq)
      throw new LedgerError("conflict", `entry ${seq} cannot be added to a ledger of ${stored} entries`);
    added += 1;
  }
  for (const checkpoint of checkpoints) kept.keep(checkpoint);
  return added;
}

/** Number of entries that are indexed together when the store is idle. */
const WORTHWHILE = 256;
/** With so many not indexed, the next append indexes them. As many of the newest excerpts are kept. */
const MOST = 1_024;

/**
 * What entries are found by: quality, actor, time and tags. An index for each, kept up with every entry, would cost more
 * than the entry itself, so it is done for many at once. A search scans the entries that are not indexed yet.
 */
export class EntryIndex {
  readonly #count: Statement<{ readonly missing: number }>;
  readonly #add: Statement;
  readonly #addTags: Statement;
  readonly #clear: Statement;
  #missing = 0;

  constructor(database: Database) {
    const isMissing = "e.seq > (SELECT coalesce(max(seq), -1) FROM ledger_index)";
    this.#count = database.prepare(`SELECT count(*) AS missing FROM ledger_entries e WHERE ${isMissing}`);
    this.#add = database.prepare(
      `INSERT INTO ledger_index (seq, quality, actor, timestamp)
       SELECT e.seq, e.quality, e.actor, e.timestamp FROM ledger_entries e WHERE ${isMissing}`,
    );
    // In the order of the table, so that each of its pages is looked for once. An entry may name a tag twice.
    this.#addTags = database.prepare(
      `INSERT OR IGNORE INTO ledger_tags (tag, seq)
       SELECT t.value, e.seq FROM ledger_recent e CROSS JOIN json_each(e.body, '$.tags') t WHERE ${isMissing} ORDER BY 1, 2`,
    );
    this.#clear = database.prepare(
      `DELETE FROM ledger_recent WHERE seq <= (SELECT max(seq) FROM ledger_entries) - ${MOST}`,
    );
  }

  /** Whether enough entries are missing to update it when the store is idle. */
  get isDue(): boolean {
    return this.#missing >= WORTHWHILE;
  }

  /** Counts an entry that was added. */
  added(): void {
    this.#missing += 1;
    if (this.#missing >= MOST) this.update();
  }

  /** Brings it up to date. */
  update(): void {
    // The tags first: what is missing is known from the other table.
    this.#addTags.run();
    this.#add.run();
    this.#clear.run();
    this.#missing = 0;
  }

  /** Counts again what is missing, when it is opened or something was undone. */
  restore(): void {
    this.#missing = this.#count.get()?.missing ?? 0;
  }
}

/** Tiles of 16 KB that stay at hand: a proof asks the same few again and again. */
const MAX_AT_HAND = 64;

/** Keeps the tree's tiles in the database. A complete tile never changes, unless its writing is undone. */
function storageIn(database: Database, atHand: Map<string, Uint8Array>): TileStorage {
  const read = database.prepare<{ readonly bytes: Uint8Array }>(
    "SELECT bytes FROM ledger_tiles WHERE height = ? AND tile = ?",
  );
  const write = database.prepare("INSERT INTO ledger_tiles (height, tile, bytes) VALUES (?, ?, ?)");
  return {
    read(height, tile) {
      const key = `${height}/${tile}`;
      const known = atHand.get(key);
      if (known) return known;
      const row = read.get(height, tile);
      if (!row) return undefined;
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
    this.tiles = new Tiles(storageIn(database, this.#atHand));
    const size = database.prepare<{ readonly size: number }>(
      "SELECT coalesce(max(seq) + 1, 0) AS size FROM ledger_entries",
    );
    const find = database.prepare<CidRow>("SELECT cid FROM ledger_entries WHERE seq = ?");
    this.#count = () => size.get()?.size ?? 0;
    this.#leafAt = (seq) => {
      const row = find.get(seq);
      if (!row) throw new LedgerError("corrupt", `entry ${seq} is missing`);
      return leafHash(row.cid);
    };
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
