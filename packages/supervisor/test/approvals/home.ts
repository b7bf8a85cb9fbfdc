import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type SqliteOptions, type Store } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "../../src/approvals/approvals.ts";
import { approvalTables } from "../../src/approvals/tables.ts";
import { Commitment } from "../../src/record/record.ts";
import { Vault } from "../../src/record/vault.ts";

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
  const signers = new KeyFolder(join(folder, "keys"));
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

/** The keys of a home that approvals are kept with. */
export interface HomeKeys {
  readonly vault: Vault;
  readonly commitment: Commitment;
}

/** The keys of the home in a folder. */
export async function keysIn(folder: string): Promise<HomeKeys> {
  const keys = join(folder, "keys");
  return { vault: await Vault.open(keys), commitment: await Commitment.open(keys) };
}

/** Keys that are the same in every run. */
export async function knownKeysIn(folder: string): Promise<HomeKeys> {
  const keys = join(folder, "keys");
  await mkdir(keys);
  for (const name of ["vault.key", "commitment.key"]) await writeFile(join(keys, name), "7e".repeat(32));
  return keysIn(folder);
}
