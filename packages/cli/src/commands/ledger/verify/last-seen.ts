import { existsSync } from "node:fs";
import { ledgerTables } from "@reins/ledger";
import { openSqliteReader } from "@reins/store";
import { databaseIn } from "../../../home.ts";
import type { SeenCheckpoints } from "../../../ledger/seen-checkpoints.ts";

/** The checkpoint last seen of the ledger that is in a home. */
export async function lastSeenIn(home: string, seen: SeenCheckpoints): Promise<string | undefined> {
  const here = await seen.inHome(home);
  const logKey = existsSync(databaseIn(home)) ? await logKeyIn(home) : undefined;
  return here?.logKey === logKey ? here?.note : undefined;
}

async function logKeyIn(home: string): Promise<string | undefined> {
  try {
    const store = await openSqliteReader(databaseIn(home), [ledgerTables]);
    return await store.query(ledgerTables, "meta", { name: "log_key" }).finally(() => store.close());
  } catch {
    // What cannot be opened is for the verification to complain about.
    return undefined;
  }
}
