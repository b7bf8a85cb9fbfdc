import type { Database, Statement } from "@reins/store";
import { type Cid, type EntryQuality, LedgerEntry } from "../entry/entry.ts";
import { bodyOf, cidOf } from "../entry/entry-builder.ts";
import { LedgerError } from "../ledger-error.ts";
import { leafHash } from "../tree/merkle.ts";
import type { Tiles } from "../tree/tiles.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { EntryIndex } from "./entry-index.ts";
import { bodyWith, type PreparedEntry } from "./prepared-entry.ts";
import { entryPacker } from "./schema.ts";
import type { ImportArgs } from "./tables.ts";

/** The ends of one chain: its last entry, and its last turn. */
interface Ends {
  last: Cid | undefined;
  turn: Cid | undefined;
}

const MAX_REMEMBERED = 10_000;

/** Knows what the next entry of each chain follows. The most recent chains are remembered, the others looked up. */
class Chains {
  readonly #ends = new Map<string, Ends>();
  readonly #findLast: Statement;
  readonly #findTurn: Statement;

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
    const ends = known ?? {
      last: cidIn(this.#findLast.get(entity_id)),
      turn: cidIn(this.#findTurn.get(entity_id)),
    };
    if (known) this.#ends.delete(entity_id);
    this.#ends.set(entity_id, ends);
    const oldest = this.#ends.keys().next();
    if (this.#ends.size > MAX_REMEMBERED && !oldest.done) this.#ends.delete(oldest.value);
    return ends;
  }
}

function cidIn(row: unknown): Cid | undefined {
  return typeof row === "object" && row !== null && "cid" in row ? String(row.cid) : undefined;
}

/** Where an entry came to stand. */
export interface Appended {
  readonly seq: number;
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
    return { seq: this.store(entry, cid, body), cid, parents };
  }

  /** Writes an entry whose name and body are known. */
  store(
    entry: Pick<PreparedEntry, "entity_id" | "quality" | "actor" | "timestamp">,
    cid: Cid,
    body: string,
  ): number {
    const { entity_id, quality, actor, timestamp } = entry;
    const seq = this.#tiles.size;
    this.#insert.run(seq, cid, entity_id, quality, actor, timestamp, entryPacker.pack(body));
    this.#insertRecent.run(seq, body);
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
  const find = database.prepare("SELECT cid FROM ledger_entries WHERE seq = ?");
  let added = 0;
  for (const { seq, entry: given } of entries) {
    const { cid, ...content } = LedgerEntry.parse(given);
    const body = bodyOf(content);
    if (cidOf(body) !== cid)
      throw new LedgerError("corrupt", `entry ${seq} is not what its content id ${cid} says`);
    const there = find.get(seq);
    if (typeof there === "object" && there !== null && "cid" in there) {
      if (there.cid === cid) continue;
      throw new LedgerError("conflict", `entry ${seq} is ${String(there.cid)} here and ${cid} in the import`);
    }
    const parents = appender.parentsOf(content.entity_id, content.quality);
    if (JSON.stringify(parents) !== JSON.stringify(content.parents)) {
      throw new LedgerError(
        "corrupt",
        `entry ${seq} (${cid}) does not follow the entry before it in its chain`,
      );
    }
    const stored = appender.store(content, cid, body);
    if (stored !== seq)
      throw new LedgerError("conflict", `entry ${seq} cannot be added to a ledger of ${stored} entries`);
    added += 1;
  }
  for (const checkpoint of checkpoints) kept.keep(checkpoint);
  return added;
}
