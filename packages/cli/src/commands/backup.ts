import { chmod, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { KeyFolder, ledgerTables } from "@reins/ledger";
import { homeTables } from "@reins/server/tables";
import { change, openSqlite, openSqliteReader } from "@reins/store";
import { command, HOME } from "../command.ts";
import { databaseIn, keysIn } from "../home.ts";
import { hasDatabase, postgresOf } from "../home-database.ts";
import { ledgerError, noLedger } from "../ledger/ledger-error.ts";

/** Files that SQLite creates beside a database that is opened for writing. */
const BESIDE = ["-wal", "-shm", ".lock", ".mark", ".sums"];

/** Copies the database of a home and covers the last entries of the copy with a checkpoint. */
export const backupCommand = command({
  description: "Copies the database of a home to a new file that can be verified. Works while Reins runs.",
  inputs: { file: ["<file>", "where to write it; it must not exist yet"], home: HOME },
  note: `The copy is complete: every entry of its ledger is covered by a signed
checkpoint. Of a home whose state is in PostgreSQL it is a copy in SQLite. It does not contain keys, artifacts and the other files of the home.`,
  examples: ["reins backup /backups/reins-2026-02-04.db", "reins ledger verify /backups/reins-2026-02-04.db"],
  codes: {
    done: "the copy is written",
    failed: "it could not be written",
    usage: "wrong usage",
    unreachable: "there is no ledger in the home, or it cannot be read",
  },
  async run({ file, home }, { notice }) {
    const path = resolve(file);
    if (!(await hasDatabase(home))) throw noLedger(home);
    try {
      await copy(home, path);
      await cover(home, path);
    } catch (error) {
      throw ledgerError(error, home);
    }
    notice(`The database is in ${path}. To check it: reins ledger verify ${path}`);
  },
});

async function copy(home: string, path: string): Promise<void> {
  const address = await postgresOf(home);
  if (address) {
    const { copyStore } = await import("@reins/store/copy");
    await (await copyStore({ from: { address }, to: { path }, tables: homeTables, inUse: true })).complete();
    return;
  }
  const store = await openSqliteReader(databaseIn(home), [ledgerTables]);
  try {
    await store.backup(path);
    await chmod(path, 0o600);
  } finally {
    await store.close();
  }
}

async function cover(home: string, path: string): Promise<void> {
  const { privateKey } = await new KeyFolder(keysIn(home)).logSigner();
  const store = await openSqlite({ path, tables: [ledgerTables] });
  try {
    await store.commit([change(ledgerTables, "checkpoint", { privateKey })]);
  } finally {
    await store.close();
  }
  for (const end of BESIDE) await rm(`${path}${end}`, { force: true });
}
