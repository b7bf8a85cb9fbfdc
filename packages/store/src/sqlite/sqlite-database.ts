import SqliteDatabase from "better-sqlite3";
import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";

/** More than any database has. */
const ALL_PAGES = 2 ** 31 - 1;

/** A database file, and a way to copy it while it is in use. */
export interface DatabaseFile extends Database {
  /**
   * The connection that writes copies a piece at a time between batches. Any other would have to begin anew after
   * each of them, so it copies all in one go.
   */
  backup(to: string): Promise<unknown>;
}

/** Opens a database file; the writer makes it if it is not there. */
export function openDatabase(path: string, readonly: boolean): DatabaseFile {
  const database = new SqliteDatabase(path, { readonly, timeout: 5_000 });
  try {
    if (readonly) database.pragma("cache_size = -65536");
    else prepareForWriting(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    prepare: (sql) => database.prepare(sql),
    exec: (sql) => void database.exec(sql),
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => void database.close(),
    backup: (to) => database.backup(to, readonly ? { progress: () => ALL_PAGES } : undefined),
  };
}

function prepareForWriting(database: SqliteDatabase.Database): void {
  // The writer itself decides when, because the sums of the pages have to be brought up to date with it. First of all: a
  // long log that a killed process left would be taken over by the very next statement.
  database.pragma("wal_autocheckpoint = 0");
  // Counts for a database that is new or is written anew: room that was freed can be given back piece by piece.
  database.pragma("auto_vacuum = INCREMENTAL");
  const mode = database.pragma("journal_mode = WAL", { simple: true });
  if (mode !== "wal") {
    throw new StoreError(
      "io",
      `the file system of ${database.name} cannot hold a write-ahead log; use a local disk`,
    );
  }
  // After each split of a page SQLite looks through its whole cache, and the system has the pages anyway.
  database.pragma("cache_size = -8192");
  // A log that grew during a long backup is cut back; this is what a busy one needs.
  database.pragma("journal_size_limit = 67108864");
  database.pragma("foreign_keys = ON");
}
