import SqliteDatabase from "better-sqlite3";
import type { Database } from "../database.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";

/** Opens a database file; the writer makes it if it is not there. */
export function openDatabase(
  path: string,
  readonly: boolean,
): Database & { backup(to: string): Promise<unknown> } {
  const database = new SqliteDatabase(path, { readonly, timeout: 5_000 });
  if (!readonly) {
    database.pragma("journal_mode = WAL");
    database.pragma("foreign_keys = ON");
  }
  database.pragma("cache_size = -65536");
  database.pragma("mmap_size = 268435456");
  return {
    prepare: (sql) => database.prepare(sql),
    exec: (sql) => void database.exec(sql),
    close: () => void database.close(),
    backup: (to) => database.backup(to),
  };
}

const CODES: readonly (readonly [RegExp, StoreErrorCode, string])[] = [
  [/^SQLITE_(FULL|IOERR_WRITE_ENOSPC)/, "full", "the disk is full; make room and try again"],
  [/^SQLITE_BUSY/, "locked", "another process writes to this database"],
  [/^SQLITE_(CORRUPT|NOTADB)/, "corrupt", "the database is damaged; restore a backup"],
  [/^SQLITE_(IOERR|CANTOPEN|READONLY)/, "io", "the disk failed"],
  [/^SQLITE_CONSTRAINT/, "conflict", "the change contradicts what is there"],
];

/** What an error of SQLite means to a caller; errors that are not SQLite's stay what they are. */
export function translate(error: unknown): Error {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = CODES.find(([pattern]) => pattern.test(code));
  if (known) return new StoreError(known[1], `${known[2]} (${code}: ${textOf(error)})`, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
