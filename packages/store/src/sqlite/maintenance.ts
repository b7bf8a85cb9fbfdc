import type { Database, Statement } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { PageSums } from "./examine.ts";

/** Pages in the log that are checkpointed when the store is idle; SQLite's default. */
const WORTHWHILE = 1_000;
/** With so many, which are 16 MB, the writer waits for the checkpoint. */
export const BUSY_LOG = 4_000;

/** Takes what the log holds over into the database, if it is much, so that no commit has to wait for that. */
export function shortenLog(database: Database, sums?: PageSums, worthwhile = WORTHWHILE): void {
  const { log, checkpointed } = checkpoint(database, "NOOP");
  if (log - checkpointed < worthwhile) return;
  takeLogOver(database, sums);
}

/** Takes over what the log holds; whether that was all of it. Leaves alone what a reader still uses. */
export function takeLogOver(database: Database, sums?: PageSums): boolean {
  const { log, checkpointed } = checkpoint(database, "PASSIVE");
  if (checkpointed < log) return false;
  // The next commit begins the log anew.
  sums?.update(log);
  return true;
}

interface Frames {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** Counts the frames of a log, after each batch: the statement is prepared once for a database. */
const counters = new WeakMap<Database, Statement<Frames>>();

/** Runs a checkpoint of the log. `NOOP` only counts. */
function checkpoint(database: Database, mode: "NOOP" | "PASSIVE" | "TRUNCATE"): Frames {
  const statement =
    (mode === "NOOP" ? counters.get(database) : undefined) ??
    database.prepare<Frames>(`PRAGMA wal_checkpoint(${mode})`);
  if (mode === "NOOP") counters.set(database, statement);
  return statement.get() ?? { busy: 1, log: 0, checkpointed: 0 };
}

/** Leaves nothing in the files of a database of what was deleted or replaced: neither in free room nor in its log. */
export function scrub(database: Database, sums?: PageSums): void {
  database.exec("VACUUM");
  takeLogOver(database, sums);
  // The log still holds pages as they were before; only a checkpoint without readers truncates it.
  if (checkpoint(database, "TRUNCATE").busy === 0) return;
  throw new StoreError("locked", "a reader uses the database, so what was deleted is still in its log");
}

/** Free pages that are kept for later writes; 4 MB. */
const KEPT = 1_024;
/** Free pages that are released at once, which takes some milliseconds. */
const AT_ONCE = 512;

/** Returns a job that frees some of the unused pages, if there are many; call it again for more. */
export function freePages(database: Database): (() => void) | undefined {
  const free = pragma(database, "freelist_count");
  // One that was made before free room could be given back keeps it for what comes.
  if (free <= KEPT || pragma(database, "auto_vacuum") !== 2) return undefined;
  return () => database.exec(`PRAGMA incremental_vacuum(${Math.min(AT_ONCE, free - KEPT)})`);
}

function pragma<Name extends string>(database: Database, name: Name): number {
  return database.prepare<Record<Name, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0;
}
