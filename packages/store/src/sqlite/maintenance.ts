import type { Database } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { PageSums } from "./examine.ts";

/** Pages in the log that are checkpointed when the store is idle; SQLite's default. */
const WORTHWHILE = 1_000;
/** With so many, which are 16 MB, the writer waits for the checkpoint. */
export const BUSY_LOG = 4_000;

/** Takes what the log holds over into the database, if it is much, so that no commit has to wait for that. */
export function shortenLog(database: Database, sums?: PageSums, worthwhile = WORTHWHILE): void {
  // Counts and does nothing else.
  const before = framesIn(database.prepare("PRAGMA wal_checkpoint(NOOP)").get());
  if (before.log - before.checkpointed < worthwhile) return;
  takeLogOver(database, sums);
}

/** Takes over what the log holds; whether that was all of it. Leaves alone what a reader still uses. */
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

/** Leaves nothing in the files of a database of what was deleted or replaced: neither in free room nor in its log. */
export function scrub(database: Database, sums?: PageSums): void {
  database.exec("VACUUM");
  takeLogOver(database, sums);
  // The log still holds pages as they were before; only a checkpoint without readers truncates it.
  const outcome = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (typeof outcome === "object" && outcome !== null && "busy" in outcome && outcome.busy === 0) return;
  throw new StoreError("locked", "a reader uses the database, so what was deleted is still in its log");
}

/** Free pages that are kept for later writes; 4 MB. */
const KEPT = 1_024;
/** Free pages that are released at once, which takes some milliseconds. */
const AT_ONCE = 512;

/** Returns a job that frees some of the unused pages, if there are many; call it again for more. */
export function freePages(database: Database): (() => void) | undefined {
  const free = numberIn(database.prepare("PRAGMA freelist_count").get());
  // One that was made before free room could be given back keeps it for what comes.
  if (free <= KEPT || numberIn(database.prepare("PRAGMA auto_vacuum").get()) !== 2) return undefined;
  return () => database.exec(`PRAGMA incremental_vacuum(${Math.min(AT_ONCE, free - KEPT)})`);
}

function numberIn(row: unknown): number {
  return Number(Object.values(row ?? {})[0] ?? 0);
}
