import { realpathSync } from "node:fs";
import { homePrefix } from "../process/mark.ts";
import { systemTable } from "../process/system-table.ts";
import { executeKill } from "./execute-kill.ts";
import { KillJournal } from "./journal.ts";
import type { KillOrder, KillReport } from "./order.ts";
import { killJournalIn } from "./places.ts";

/** Ends whatever carries a mark of a home on which no Reins runs; the next one that does writes it down. */
export async function killLeftBehind(home: string, order: KillOrder): Promise<KillReport> {
  const journal = new KillJournal(killJournalIn(home));
  journal.ordered(order, new Date());
  const prefix = homePrefix(realpathSync(home));
  const report = await executeKill(order, [], { table: systemTable, prefix, now: () => new Date() });
  journal.reported(report);
  return report;
}
