import { closeSync, constants, openSync } from "node:fs";
import SqliteDatabase from "better-sqlite3";
import { StoreError } from "../store-error.ts";
import { translate } from "./translate.ts";

const { O_CREAT, O_EXCL, O_WRONLY } = constants;

/**
 * Makes this process the only writer of a database, for as long as it lives: a lock on a file beside it that the
 * operating system lets go of even when the process is killed.
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
