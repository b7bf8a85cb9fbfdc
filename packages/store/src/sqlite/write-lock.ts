import SqliteDatabase from "better-sqlite3";
import { StoreError } from "../store-error.ts";
import { translate } from "./translate.ts";

/**
 * Makes this process the only writer of a database, for as long as it lives: a lock on a file beside it that the
 * operating system lets go of even when the process is killed.
 */
export function takeWriteLock(path: string): () => void {
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
