import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { ArtifactStore, type Imported, importLines, LedgerReader, ledgerTables } from "@reins/ledger";
import { openSqlite, type Store } from "@reins/store";
import { artifactsIn, homeFolder, openHome, realDatabase } from "../../../home.ts";
import { checkSeen } from "../../../ledger/check-seen.ts";
import { ledgerFault } from "../../../ledger/ledger-error.ts";
import type { LedgerFlags } from "../../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../../ledger/seen-checkpoints.ts";
import { type Notice, noticeOnStderr, print } from "../../../output.ts";
import { printableLine } from "../../../printable.ts";
import { linesOfExport } from "./export-lines.ts";

/** Takes an export into the ledger of a home. */
export async function importLedger(file: string, flags: LedgerFlags): Promise<void> {
  const home = homeFolder(flags.home, process.env);
  await openHome(home, noticeOnStderr(flags.json));
  try {
    const imported = await importInto(home, file, noticeOnStderr(flags.json));
    print(flags.json ? `${JSON.stringify(imported)}\n` : describe(imported, home));
  } catch (error) {
    throw ledgerFault(error, home);
  }
}

async function importInto(home: string, file: string, notice: Notice): Promise<Imported> {
  const path = await realDatabase(home);
  const isNew = !existsSync(path);
  const store = await openSqlite({ path, tables: [ledgerTables] });
  try {
    const lines = linesOfExport(file, process.stdin);
    const imported = await importLines(store, lines, new ArtifactStore(artifactsIn(home)));
    await checkSeen(await LedgerReader.of(store), home, SeenCheckpoints.ofUser(process.env), notice);
    return imported;
  } catch (error) {
    await abandon(store, path, isNew);
    throw error;
  } finally {
    await store.close();
  }
}

/** A home that had no ledger is not left with half of one. */
async function abandon(store: Store, path: string, isNew: boolean): Promise<void> {
  await store.close();
  if (!isNew) return;
  for (const suffix of ["", "-wal", "-shm"]) await rm(`${path}${suffix}`, { force: true });
}

function describe({ origin, entries, added }: Imported, home: string): string {
  const name = printableLine(origin);
  return `The ledger ${name} is in ${home}: ${entries} entries, ${added} of them new. To check it: reins ledger verify ${home}\n`;
}
