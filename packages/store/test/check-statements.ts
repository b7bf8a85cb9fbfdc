import { readPostgresAddress } from "../src/postgres/address.ts";
import { translateStatement } from "../src/postgres/dialect.ts";
import { startConnector } from "../src/postgres/open.ts";
import { makeReady, settingsFor } from "../src/postgres/opened.ts";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import { migrate } from "../src/sqlite/migrate.ts";
import { partsOf } from "../src/sqlite/open.ts";
import { loadModules } from "../src/sqlite/opened.ts";
import type { Database, Operations, Tables } from "../src/store.ts";

/** A statement that PostgreSQL does not take, and why. */
export interface RefusedStatement {
  readonly sql: string;
  readonly error: string;
}

/** Has PostgreSQL parse every statement that tables prepare when they are opened. Returns those that it refuses. */
export async function refusedStatements(
  address: string,
  tables: readonly Tables<Operations, Operations>[],
): Promise<{ readonly checked: number; readonly refused: readonly RefusedStatement[] }> {
  const place = readPostgresAddress(address);
  const { links, connector } = startConnector({ address: place }, 1);
  const [link] = links;
  if (!link) throw new Error("there is no connection");
  const database = new PostgresDatabase(link);
  try {
    await database.connect(settingsFor(place.schema));
    makeReady(database, place.schema);
    const modules = await loadModules({ tables: partsOf(tables) });
    migrate(database, modules);
    const statements = new Set<string>();
    const recording = (isShared: boolean): Database => ({
      kind: "postgres",
      isShared,
      inTransaction: false,
      exec: (sql) => database.exec(sql),
      close: () => undefined,
      prepare: (sql) => {
        statements.add(sql);
        return database.prepare(sql);
      },
    });
    for (const module of modules.values())
      for (const isShared of [false, true]) await module.open(recording(isShared));
    const refused: RefusedStatement[] = [];
    for (const [index, sql] of [...statements].entries())
      try {
        database.run(`PREPARE checked_${index} AS ${translateStatement(sql).text}`);
      } catch (error) {
        refused.push({ sql, error: String(error) });
      }
    return { checked: statements.size, refused };
  } finally {
    await database.end();
    database.close();
    await connector.terminate();
  }
}
