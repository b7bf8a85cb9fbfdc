import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";
import type { PageSums } from "./page-sums.ts";
import { takeLogOver } from "./shorten-log.ts";

/** Leaves nothing in the files of a database of what was deleted or replaced: neither in free room nor in its log. */
export function scrub(database: Database, sums?: PageSums): void {
  database.exec("VACUUM");
  takeLogOver(database, sums);
  // The log still holds pages as they were before; only a checkpoint that nobody is in the way of cuts it off.
  const outcome = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (typeof outcome === "object" && outcome !== null && "busy" in outcome && outcome.busy === 0) return;
  throw new StoreError("locked", "somebody reads the database, so what was deleted is still in its log");
}
