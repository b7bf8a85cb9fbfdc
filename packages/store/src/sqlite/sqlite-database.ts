import { closeSync, constants, openSync } from "node:fs";
import { access, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "@reins/kit/files";
import SqliteDatabase from "better-sqlite3";
import type { Database } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { translate } from "./threads.ts";

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
    prepare: <Row>(sql: string) => database.prepare<unknown[], Row>(sql),
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

const { O_CREAT, O_EXCL, O_WRONLY } = constants;

/**
 * Makes this process the only writer of a database, for as long as it lives: a lock on a file beside it that the
 * operating system releases even when the process is killed.
 */
export function takeWriteLock(path: string): () => void {
  createPrivate(`${path}.lock`);
  const lock = new SqliteDatabase(`${path}.lock`, { timeout: 0 });
  try {
    lock.pragma("locking_mode = EXCLUSIVE");
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (translate(error).code !== "locked") throw error;
    const text = "in use by another process; stop it first, or open the database for reading only";
    throw new StoreError("locked", text, { cause: error });
  }
  return () => lock.close();
}

/**
 * Creates a file that SQLite would create readable by other users. One that is there is not opened: closing it would
 * release the locks that this process holds on it.
 */
export function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o600));
  } catch {
    // It is there, or cannot be created; SQLite opens it next, and says why it cannot.
  }
}

/** Copies a database to a new file, which has its name only when it is whole, and then also after a power cut. */
export async function backUp(database: DatabaseFile, path: string): Promise<void> {
  const partial = `${path}.partial`;
  if (await isThere(path)) throw new StoreError("invalid", `${path} is there already`);
  await rm(partial, { force: true });
  await database.backup(partial);
  await rename(partial, path);
  await syncFolder(dirname(path));
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
