import type { Database } from "../database.ts";

/** So many free pages are kept for what comes next; 4 MB. */
const KEPT = 1_024;
/** So many are given back at once, which takes some milliseconds. */
const AT_ONCE = 512;

/** What gives free room back to the disk, if there is much of it: some of it, to be asked for again. */
export function giveBack(database: Database): (() => void) | undefined {
  const free = numberIn(database.prepare("PRAGMA freelist_count").get());
  // One that was made before free room could be given back keeps it for what comes.
  if (free <= KEPT || numberIn(database.prepare("PRAGMA auto_vacuum").get()) !== 2) return undefined;
  return () => database.exec(`PRAGMA incremental_vacuum(${Math.min(AT_ONCE, free - KEPT)})`);
}

function numberIn(row: unknown): number {
  return Number(Object.values(row ?? {})[0] ?? 0);
}
