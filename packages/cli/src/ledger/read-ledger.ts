import { existsSync } from "node:fs";
import { LedgerError, LedgerReader, ledgerTables } from "@reins/ledger";
import { openSqliteReader, type StoreReader } from "@reins/store";
import { databaseIn, homeFolder } from "../home.ts";
import { tightenHome } from "../home-privacy.ts";
import { noticeOnStderr } from "../notice.ts";
import { checkSeen } from "./check-seen.ts";
import { ledgerFault, noLedger } from "./fault.ts";
import { SeenCheckpoints } from "./seen-checkpoints.ts";

/** The flags that every command of the ledger has, as they were written. */
export interface LedgerFlags {
  readonly home?: string;
  readonly json?: boolean;
}

/** Reads the ledger of a home, also while a Reins writes to it, after checking it against what was seen before. */
export async function readLedger<Result>(
  { home: flag, json }: LedgerFlags,
  read: (ledger: LedgerReader, home: string) => Promise<Result>,
): Promise<Result> {
  const home = homeFolder(flag, process.env);
  if (!existsSync(databaseIn(home))) throw noLedger(home);
  let store: StoreReader | undefined;
  try {
    await tightenHome(home, noticeOnStderr(json));
    store = await openSqliteReader(databaseIn(home), [ledgerTables]);
    const ledger = await LedgerReader.of(store).catch((error: unknown) => {
      throw error instanceof LedgerError && error.code === "not_found" ? noLedger(home, error) : error;
    });
    await checkSeen(ledger, home, SeenCheckpoints.ofUser(process.env), noticeOnStderr(json));
    return await read(ledger, home);
  } catch (error) {
    throw ledgerFault(error, home);
  } finally {
    await store?.close();
  }
}
