import SqliteDatabase from "better-sqlite3";
import type { EntryContent } from "../src/entry.ts";
import { MIGRATIONS } from "../src/tables/schema.ts";

/** One row as the ledger writes it. */
export interface Row {
  readonly cid: string;
  readonly entry: Pick<EntryContent, "entity_id" | "quality" | "actor" | "timestamp" | "tags">;
  readonly body: string;
}

/** Writes ledger rows, with all their indexes, straight into SQLite: as fast as it goes without a ledger. */
export class RawSqlite {
  readonly #database: SqliteDatabase.Database;
  readonly #write: (rows: readonly Row[]) => void;
  #seq = 0;

  constructor(path: string) {
    const database = new SqliteDatabase(path);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.pragma("cache_size = -65536");
    for (const migration of MIGRATIONS) database.exec(migration);
    const insert = database.prepare(
      "INSERT INTO ledger_entries (seq, cid, entity_id, quality, actor, timestamp, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    const index = database.prepare(
      "INSERT INTO ledger_index (seq, quality, actor, timestamp) VALUES (?, ?, ?, ?)",
    );
    const tag = database.prepare("INSERT OR IGNORE INTO ledger_tags (tag, seq) VALUES (?, ?)");
    this.#database = database;
    this.#write = database.transaction((rows: readonly Row[]) => {
      for (const { cid, entry, body } of rows) {
        const seq = this.#seq;
        this.#seq += 1;
        insert.run(seq, cid, entry.entity_id, entry.quality, entry.actor, entry.timestamp, body);
        index.run(seq, entry.quality, entry.actor, entry.timestamp);
        for (const one of entry.tags) tag.run(one, seq);
      }
    });
  }

  /** One durable transaction. */
  write(rows: readonly Row[]): void {
    this.#write(rows);
  }

  close(): void {
    this.#database.close();
  }
}
