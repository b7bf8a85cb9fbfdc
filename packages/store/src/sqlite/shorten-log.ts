import type { Database } from "../database.ts";

/** So many pages in the log are worth being taken over; as many as SQLite itself would wait for by default. */
const WORTHWHILE = 1_000;

/** Takes what the log holds over into the database, if it is much, so that no commit has to wait for that. */
export function shortenLog(database: Database): void {
  // Counts and does nothing else.
  if (left(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()) < WORTHWHILE) return;
  // Leaves alone what somebody still reads.
  database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
}

function left(row: unknown): number {
  if (typeof row !== "object" || row === null || !("log" in row && "checkpointed" in row)) return 0;
  return Number(row.log) - Number(row.checkpointed);
}
