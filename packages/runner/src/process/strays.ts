import { homePrefix, ownerOf } from "./mark.ts";
import { type Swept, scanFor, sweep } from "./sweep.ts";
import type { ProcessEntry, ProcessTable, TableSight } from "./table.ts";

/** What became of processes that an earlier run left behind. */
export interface StrayReport extends Swept {
  /** How far we could look; with `group`, not at all for processes of an earlier run. */
  readonly sight: TableSight;
}

/**
 * Ends what earlier runs of this home left behind: whoever carries a mark whose giver is no longer there. Processes
 * of another run that is alive are left in peace.
 */
export async function sweepStrays(home: string, table: ProcessTable): Promise<StrayReport> {
  const prefix = homePrefix(home);
  const belongs = async (entry: ProcessEntry) => {
    const pid = ownerOf(entry.marks(), prefix);
    if (pid === undefined) return false;
    const owner = await table.find(pid);
    // Who started after what it would have started only has the same pid.
    return owner === undefined || owner.started > entry.started;
  };
  const { sight } = table;
  // Mostly there is nobody, and then one look is enough: nobody is there to make others.
  for await (const _ of scanFor(table, belongs)) return { ...(await sweep(table, belongs)), sight };
  return { gone: [], left: [], sight };
}
