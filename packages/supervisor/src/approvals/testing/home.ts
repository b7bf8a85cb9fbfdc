import { join } from "node:path";
import { KeyFolder, KeyRing, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type SqliteOptions, type Store } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "../approvals.ts";
import { approvalTables } from "../tables.ts";

/** Approvals on a real database in a folder, which may be opened again and again. */
export interface Home {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  close(): Promise<void>;
}

/** Opens a home. */
export async function openHome(
  folder: string,
  options: Omit<ApprovalsOptions, "store" | "ledger"> & Pick<SqliteOptions, "wrap"> = {},
): Promise<Home> {
  const { wrap, ...own } = options;
  const tables = [ledgerTables, approvalTables];
  const store = await openSqlite({ path: join(folder, "reins.db"), tables, ...(wrap && { wrap }) });
  const signers = new KeyRing(new KeyFolder(join(folder, "keys")));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/approvals" });
  const approvals = new Approvals({ store, ledger, ...own });
  return {
    store,
    ledger,
    approvals,
    async close() {
      await approvals.close();
      await ledger.close();
      await store.close();
    },
  };
}
