import type { Database } from "@reins/store";
import { LedgerEntry } from "../entry/entry.ts";
import { bodyOf, cidOf } from "../entry/entry-builder.ts";
import { LedgerError } from "../ledger-error.ts";
import type { Appender } from "./append.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { ImportArgs } from "./tables.ts";

/**
 * Takes over entries and checkpoints of another copy of this ledger, each where it stands there. What is there already
 * is left alone; what does not fit ends the whole commit.
 */
export function importEntries(
  { appender, checkpoints: kept }: { appender: Appender; checkpoints: Checkpoints },
  database: Database,
  { entries, checkpoints }: ImportArgs,
): number {
  const find = database.prepare("SELECT cid FROM ledger_entries WHERE seq = ?");
  let added = 0;
  for (const { seq, entry: given } of entries) {
    const { cid, ...content } = LedgerEntry.parse(given);
    const body = bodyOf(content);
    if (cidOf(body) !== cid)
      throw new LedgerError("corrupt", `entry ${seq} is not what its content id ${cid} says`);
    const there = find.get(seq);
    if (typeof there === "object" && there !== null && "cid" in there) {
      if (there.cid === cid) continue;
      throw new LedgerError("conflict", `entry ${seq} is ${String(there.cid)} here and ${cid} in the import`);
    }
    const parents = appender.parentsOf(content.entity_id, content.quality);
    if (JSON.stringify(parents) !== JSON.stringify(content.parents)) {
      throw new LedgerError(
        "corrupt",
        `entry ${seq} (${cid}) does not follow the entry before it in its chain`,
      );
    }
    const stored = appender.store(content, cid, body);
    if (stored !== seq)
      throw new LedgerError("conflict", `entry ${seq} cannot be added to a ledger of ${stored} entries`);
    added += 1;
  }
  for (const checkpoint of checkpoints) kept.keep(checkpoint);
  return added;
}
