import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openSqlite } from "../src/sqlite/open.ts";
import type { StorePlace } from "./contract/subject.ts";

/** A folder of the running test, gone when it ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "store-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder for a database in SQLite. */
export async function sqlitePlace(): Promise<StorePlace & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "store-"));
  const path = join(folder, "reins.db");
  let copies = 0;
  return {
    path,
    open: (tables, { now, ...limits } = {}) => openSqlite({ path, tables, limits, ...(now && { now }) }),
    openBackup: (copy, tables) => openSqlite({ path: copy, tables }),
    freePath() {
      copies += 1;
      return join(folder, `copy ${copies}.db`);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
