import type { Change, Database, Statement } from "@reins/store";
import { bodyWith, cidOf, SYSTEM } from "../canonical.ts";
import type { Cid, PreparedEntry } from "../entry.ts";
import { LedgerError } from "../ledger-error.ts";
import { leafHash, type Tiles } from "../tree.ts";
import type { Appended, EntryIndex } from "./append.ts";
import { entryPacker } from "./schema.ts";
import type { Announcement } from "./tables.ts";

/** The ends of a chain, as the database keeps them for all nodes. */
interface ChainRow {
  readonly entity_id: string;
  readonly last: Cid | null;
  readonly turn: Cid | null;
}

/**
 * Takes entries in where several nodes write: an entry is kept, and has its parent and its content id, as soon as its
 * transaction ends. Its place in the tree comes later, by {@link Placement}. Every chain has a row with its ends, which
 * a transaction locks before it adds to the chain; so entries of one chain come one after another, whichever node writes
 * them, and the numbers of their rows are in the order of the chain.
 */
export class Intake {
  readonly #begin: Statement;
  readonly #lock: Statement<ChainRow>;
  readonly #add: Statement;
  readonly #announce: Statement;
  /** Of the chains that the transaction has locked. */
  readonly #chains = new Map<string, ChainRow>();

  constructor(database: Database) {
    const newest = (condition: string) =>
      `(SELECT e.cid FROM ledger_entries e WHERE e.entity_id = c.value${condition} ORDER BY e.seq DESC LIMIT 1)`;
    // Nothing of a chain without a row waits for its place.
    this.#begin = database.prepare(
      `INSERT OR IGNORE INTO ledger_chains (entity_id, last, turn)
       SELECT c.value, ${newest("")}, ${newest(" AND +e.quality = 'turn'")} FROM json_each(?) c
       WHERE NOT EXISTS (SELECT 1 FROM ledger_chains k WHERE k.entity_id = c.value) ORDER BY c.value`,
    );
    // In one order, so that no two transactions wait for each other.
    this.#lock = database.prepare(
      `SELECT entity_id, last, turn FROM ledger_chains WHERE entity_id IN (SELECT value FROM json_each(?))
       ORDER BY entity_id FOR UPDATE`,
    );
    this.#add = database.prepare(
      `WITH chain AS (UPDATE ledger_chains SET last = @cid, turn = @turn WHERE entity_id = @entity_id)
       INSERT INTO ledger_intake (cid, entity_id, quality, actor, timestamp, packed, excerpt)
       VALUES (@cid, @entity_id, @quality, @actor, @timestamp, @packed, @excerpt)`,
    );
    this.#announce = database.prepare("INSERT OR IGNORE INTO ledger_keys (key_id) VALUES (?)");
  }

  /** Locks the chains to which a transaction adds, at its beginning. */
  reserve(changes: readonly Pick<Change<unknown>, "name" | "args">[]): void {
    this.#chains.clear();
    const names = new Set<string>();
    for (const { name, args } of changes)
      if (name === "append") names.add(chainOf(args));
      else if (name === "announce") names.add(SYSTEM);
    if (names.size > 0) this.#read([...names]);
  }

  /** Keeps an entry behind the last one of its chain. */
  append(entry: PreparedEntry): Appended {
    const { entity_id, quality, actor, timestamp, excerpt } = entry;
    // What was taken back may have moved its end.
    if (!this.#chains.has(entity_id)) this.#read([entity_id]);
    const chain = this.#chains.get(entity_id);
    if (!chain) throw new LedgerError("invalid", `"${entity_id}" cannot be the name of a chain`);
    const parent = quality === "turn" ? chain.turn : chain.last;
    const parents = parent === null ? [] : [parent];
    const body = bodyWith(entry, parents);
    const cid = cidOf(body);
    const turn = quality === "turn" ? cid : chain.turn;
    const packed = entryPacker.pack(body);
    this.#add.run({ cid, turn, entity_id, quality, actor, timestamp, packed, excerpt });
    this.#chains.set(entity_id, { entity_id, last: cid, turn });
    return { cid, parents };
  }

  /** Keeps the entry that announces a key, unless another node, which has the same key, announced it first. */
  announce({ key_id, entry }: Announcement): Appended | undefined {
    return this.#announce.run(key_id).changes > 0 ? this.append(entry) : undefined;
  }

  /** Forgets what may have been undone. */
  undone(): void {
    this.#chains.clear();
  }

  #read(names: readonly string[]): void {
    const list = JSON.stringify(names);
    this.#begin.run(list);
    for (const row of this.#lock.all(list)) this.#chains.set(row.entity_id, row);
  }
}

function chainOf(args: unknown): string {
  return typeof args === "object" && args !== null && "entity_id" in args ? String(args.entity_id) : "";
}

/** The parts of the writer that grow with every entry. */
interface Growing {
  readonly tiles: Tiles;
  readonly index: EntryIndex;
}

/** Moves what was taken in into the ledger, the oldest first. */
export class Placement {
  readonly #next: Statement<{ readonly place: number; readonly cid: Cid }>;
  readonly #move: readonly Statement[];

  constructor(database: Database) {
    this.#next = database.prepare("SELECT place, cid FROM ledger_intake ORDER BY place LIMIT ?");
    // Those that were read, and none that another node has added meanwhile.
    const those = "WHERE place IN (SELECT CAST(value AS BIGINT) FROM json_each(@places))";
    const seq = "CAST(@size AS BIGINT) + row_number() OVER (ORDER BY place) - 1";
    this.#move = [
      `INSERT INTO ledger_entries (seq, cid, entity_id, quality, actor, timestamp, body, packed)
       SELECT ${seq}, cid, entity_id, quality, actor, timestamp, '', packed FROM ledger_intake ${those}`,
      `INSERT INTO ledger_recent (seq, body) SELECT ${seq}, excerpt FROM ledger_intake ${those}`,
      `DELETE FROM ledger_intake ${those}`,
    ].map((sql) => database.prepare(sql));
  }

  /** Gives up to so many entries their places; returns how many. */
  place({ tiles, index }: Growing, limit: number): number {
    const rows = this.#next.all(limit);
    if (rows.length === 0) return 0;
    const places = JSON.stringify(rows.map(({ place }) => place));
    for (const statement of this.#move) statement.run({ places, size: tiles.size });
    for (const { cid } of rows) {
      tiles.append(leafHash(cid));
      index.added();
    }
    return rows.length;
  }
}
