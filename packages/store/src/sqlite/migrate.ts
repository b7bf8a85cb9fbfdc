import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";
import type { TablesModule } from "../tables.ts";

/** Brings the tables of each package up to its newest migration. A database of a newer version is left alone. */
export function migrate(
  database: Database,
  modules: ReadonlyMap<string, Pick<TablesModule, "migrations">>,
): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(
      "CREATE TABLE IF NOT EXISTS migrations (tables TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT",
    );
    const read = database.prepare("SELECT version FROM migrations WHERE tables = ?");
    const write = database.prepare("INSERT OR REPLACE INTO migrations (tables, version) VALUES (?, ?)");
    for (const [tables, { migrations }] of modules) {
      const done = versionIn(read.get(tables));
      if (done > migrations.length) {
        const text = `the tables "${tables}" are of version ${done}, this program knows ${migrations.length}; update it`;
        throw new StoreError("newer", text);
      }
      for (const migration of migrations.slice(done)) database.exec(migration);
      write.run(tables, migrations.length);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function versionIn(row: unknown): number {
  return typeof row === "object" && row !== null && "version" in row ? Number(row.version) : 0;
}
