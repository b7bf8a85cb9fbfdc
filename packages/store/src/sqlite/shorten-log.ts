import type { Database } from "../database.ts";
import type { PageSums } from "./page-sums.ts";

/** So many pages in the log are worth being taken over when there is time; as many as SQLite would wait for by default. */
const WORTHWHILE = 1_000;
/** With so many, which are 16 MB, whoever writes waits for it. */
export const BUSY_LOG = 4_000;

/** Takes what the log holds over into the database, if it is much, so that no commit has to wait for that. */
export function shortenLog(database: Database, sums?: PageSums, worthwhile = WORTHWHILE): void {
  // Counts and does nothing else.
  const before = framesIn(database.prepare("PRAGMA wal_checkpoint(NOOP)").get());
  if (before.log - before.checkpointed < worthwhile) return;
  takeLogOver(database, sums);
}

/** Takes over what the log holds; whether that was all of it. Leaves alone what somebody still reads. */
export function takeLogOver(database: Database, sums?: PageSums): boolean {
  const { log, checkpointed } = framesIn(database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get());
  if (checkpointed < log) return false;
  // The next commit begins the log anew.
  sums?.update(log);
  return true;
}

function framesIn(row: unknown): { readonly log: number; readonly checkpointed: number } {
  if (typeof row !== "object" || row === null || !("log" in row && "checkpointed" in row))
    return { log: 0, checkpointed: 0 };
  return { log: Number(row.log), checkpointed: Number(row.checkpointed) };
}
