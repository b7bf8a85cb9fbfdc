import type { Database, Statement } from "@reins/store";
import type { Cid } from "../entry/entry.ts";
import { cidOf } from "../entry/entry-builder.ts";
import { leafHash } from "../tree/hash.ts";
import type { Tiles } from "../tree/tiles.ts";
import { Chains } from "./chains.ts";
import type { EntryIndex } from "./entry-index.ts";
import { entryPacker } from "./entry-packer.ts";
import { bodyWith, type PreparedEntry } from "./prepared-entry.ts";

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
