import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres, openSqlite, readPostgresAddress, type Store } from "@reins/store";
import { KeyFolder } from "../src/keys/key-folder.ts";
import { Ledger } from "../src/ledger.ts";
import { ledgerTables } from "../src/tables/tables.ts";

/** A ledger in a folder of its own. */
export interface Home {
  readonly path: string;
  readonly store: Store;
  readonly ledger: Ledger;
}

/** Runs with a ledger that is gone afterwards; in PostgreSQL, if there is an address. */
export async function withHome<Result>(
  run: (home: Home) => Promise<Result>,
  postgres?: string,
): Promise<Result> {
  const path = await mkdtemp(join(tmpdir(), "ledger-bench-"));
  const home = await openHome(path, postgres);
  try {
    return await run(home);
  } finally {
    await home.ledger.close();
    await home.store.close();
    await rm(path, { recursive: true, force: true });
  }
}

/** Opens the ledger in a folder. */
export async function openHome(path: string, postgres?: string): Promise<Home> {
  const store = await (postgres === undefined
    ? openSqlite({ path: join(path, "reins.db"), tables: [ledgerTables] })
    : openPostgres({ address: readPostgresAddress(postgres), tables: [ledgerTables] }));
  const signers = new KeyFolder(join(path, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/bench" });
  return { path, store, ledger };
}
