import type { Database, Migration, TablesModule } from "../store.ts";
import { StoreError } from "../store-error.ts";

type Modules = ReadonlyMap<string, Pick<TablesModule, "migrations">>;

/**
 * Brings the tables of each package up to its newest migration. A database of a newer version is left alone. What is to
 * be done at the beginning of the transaction is called with it open.
 */
export function migrate(database: Database, modules: Modules, begun?: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    begun?.();
    database.exec(
      "CREATE TABLE IF NOT EXISTS migrations (tables TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT",
    );
    const versions = readVersions(database);
    const write = database.prepare(
      "INSERT INTO migrations (tables, version) VALUES (?, ?) ON CONFLICT (tables) DO UPDATE SET version = excluded.version",
    );
    for (const [tables, { migrations }] of modules) {
      const done = versions.get(tables) ?? 0;
      refuseNewer(tables, done, migrations.length);
      for (const migration of migrations.slice(done)) database.exec(migrationFor(database, migration));
      if (done < migrations.length) write.run(tables, migrations.length);
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Refuses a database that a reader cannot read as it is, because a writer has yet to migrate it or knows more. One beside
 * a writer that was let in goes on when another process has migrated it since.
 */
export function expectMigrated(database: Database, modules: Modules, { mayBeNewer = false } = {}): void {
  const versions = readVersions(database);
  for (const [tables, { migrations }] of modules) {
    const done = versions.get(tables) ?? 0;
    if (!mayBeNewer) refuseNewer(tables, done, migrations.length);
    if (done >= migrations.length) continue;
    const text = `the tables "${tables}" are of version ${done}, this program needs ${migrations.length}; open the database for writing once`;
    throw new StoreError("older", text);
  }
}

function refuseNewer(tables: string, done: number, known: number): void {
  if (done <= known) return;
  const text = `the tables "${tables}" are of version ${done}, this program knows ${known}; update it`;
  throw new StoreError("newer", text);
}

function migrationFor({ kind }: Database, migration: Migration): string {
  return typeof migration === "string" ? migration : migration[kind ?? "sqlite"];
}

function readVersions(database: Database): Map<string, number> {
  const there = database.prepare(HAS_MIGRATIONS[database.kind ?? "sqlite"]).get();
  if (!there) return new Map();
  const rows = database.prepare<Version>("SELECT tables, version FROM migrations").all();
  return new Map(rows.map(({ tables, version }) => [tables, version]));
}

const HAS_MIGRATIONS = {
  sqlite: "SELECT 1 FROM sqlite_schema WHERE name = 'migrations'",
  postgres: "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'migrations'",
} as const;

interface Version {
  readonly tables: string;
  readonly version: number;
}
