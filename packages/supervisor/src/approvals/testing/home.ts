import { join } from "node:path";
import { KeyFolder, KeyRing, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type SqliteOptions, type Store } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "../approvals.ts";
import { approvalTables } from "../tables.ts";
import { type HomeKeys, keysIn } from "./keys.ts";

/** What a test may want otherwise of approvals. */
export type OwnOptions = Partial<Omit<ApprovalsOptions, "store" | "ledger">>;

/** Approvals on a real database in a folder, which may be opened again and again. */
export interface Home extends HomeKeys {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  close(): Promise<void>;
}

/** Opens a home. */
export async function openHome(
  folder: string,
  options: OwnOptions & Pick<SqliteOptions, "wrap" | "acceptLoss"> = {},
): Promise<Home> {
  const { wrap, acceptLoss, ...own } = options;
  const tables = [ledgerTables, approvalTables];
  const store = await openSqlite({
    path: join(folder, "reins.db"),
    tables,
    ...(wrap && { wrap }),
    ...(acceptLoss && { acceptLoss }),
  });
  const signers = new KeyRing(new KeyFolder(join(folder, "keys")));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/approvals" });
  const keys = await keysIn(folder);
  const approvals = new Approvals({ store, ledger, ...keys, ...own });
  return {
    ...keys,
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
