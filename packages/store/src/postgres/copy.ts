import { existsSync, rmSync } from "node:fs";
import { rename } from "node:fs/promises";
import SqliteDatabase from "better-sqlite3";
import { expectMigrated, migrate } from "../sqlite/migrate.ts";
import { openSqliteReader, partsOf } from "../sqlite/open.ts";
import { loadModules, type Modules } from "../sqlite/opened.ts";
import { createPrivate, openDatabase, takeWriteLock } from "../sqlite/sqlite-database.ts";
import { translate } from "../sqlite/threads.ts";
import type { Database, Operations, StoreReader, Tables } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type PostgresAddress, shownAddress } from "./address.ts";
import { excludeWriters } from "./claim.ts";
import { openPostgresReader, startConnector } from "./open.ts";
import { makeReady, settingsFor } from "./opened.ts";
import { PostgresDatabase } from "./postgres-database.ts";

/** A database: a file in SQLite, or one in PostgreSQL. */
export type StoreLocation = { readonly path: string } | { readonly address: PostgresAddress };

interface CopyOptions {
  readonly from: StoreLocation;
  /** Must hold nothing. */
  readonly to: StoreLocation;
  readonly tables: readonly Tables<Operations, Operations>[];
  /** Whether to copy a database that a process writes to, as of one moment; by default that is refused. */
  readonly inUse?: boolean;
}

/** A copy that nothing opens for writing before it is completed. */
export interface CopiedStore {
  readonly rows: number;
  /** Opens it for reading. */
  open(tables: readonly Tables<Operations, Operations>[]): Promise<StoreReader>;
  complete(): Promise<void>;
}

type Row = readonly unknown[];

/** A table, its columns in an order of their own, and the last number that it gave to a row, where it counts them. */
interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly last: number | bigint | undefined;
}

interface Source {
  readonly database: Database;
  tables(): readonly Table[];
  /** Its rows, few at a time. */
  rows(table: Table): Iterable<Row>;
  close(): Promise<void>;
}

interface Target extends Pick<CopiedStore, "open" | "complete"> {
  readonly database: Database;
  tables(): readonly Table[];
  /** Sets the last number that a table gave to a row. */
  count(table: string, last: number | bigint): void;
  /** Ends the copying. */
  close(): Promise<void>;
}

/** What each kind of database has for itself. */
const OWN: ReadonlySet<string> = new Set(["migrations", "store_mark", "store_state", "store_nodes"]);

/**
 * Copies all rows of a database to an empty one, of either kind, in one transaction and with memory for few of them. Runs
 * on this thread: for commands, not for servers.
 */
export async function copyStore({ from, to, tables, inUse = false }: CopyOptions): Promise<CopiedStore> {
  const modules = await loadModules({ tables: partsOf(tables) });
  const source = await named(from, () =>
    "path" in from ? openSqliteSource(from.path, inUse) : openPostgresSource(from.address, inUse),
  );
  try {
    await named(from, async () => expectMigrated(source.database, modules));
    const target = await named(to, () =>
      "path" in to ? openSqliteTarget(to.path, modules) : openPostgresTarget(to.address, modules),
    );
    try {
      const rows = await named(to, async () => copyRows(source, target));
      return { rows, open: target.open, complete: () => named(to, target.complete) };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function copyRows(source: Source, { database, ...target }: Target): number {
  const there = new Map(target.tables().map((table) => [table.name, table]));
  let count = 0;
  database.exec("BEGIN");
  // What migrations wrote comes with the rows; the last tables refer to the first.
  for (const name of [...there.keys()].toReversed()) database.exec(`DELETE FROM "${name}"`);
  const found = new Map(source.tables().map((table) => [table.name, table]));
  const missing = [...found.keys()].find((name) => !there.has(name));
  if (missing !== undefined) throw new StoreError("newer", `the table "${missing}" is not known here`);
  for (const name of there.keys()) {
    const table = found.get(name);
    if (!table) continue;
    const columns = table.columns.map((column) => `"${column}"`).join(", ");
    const places = table.columns.map(() => "?").join(", ");
    const insert = database.prepare(`INSERT INTO "${name}" (${columns}) VALUES (${places})`);
    for (const row of source.rows(table)) {
      insert.run(...row);
      count += 1;
    }
    if (table.last !== undefined) target.count(name, table.last);
  }
  database.exec("COMMIT");
  return count;
}

/** Says of which database an error is. */
async function named<Result>(location: StoreLocation, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const { code, message } = translate(error);
    const where = "path" in location ? location.path : shownAddress(location.address);
    throw new StoreError(code, `${where}: ${message}`, { cause: error });
  }
}

/** An index of words is a virtual table, whose own tables are made with it. */
const SQLITE_TABLES = `SELECT s.name, l.type = 'virtual' AS isVirtual
  FROM sqlite_schema s JOIN pragma_table_list l ON l.name = s.name AND l.schema = 'main'
  WHERE s.type = 'table' AND l.type IN ('table', 'virtual') AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
  ORDER BY s.rowid`;

function sqliteTables(database: Database): Table[] {
  const counts = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").get();
  const last = counts
    ? database.prepare<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = ?")
    : undefined;
  const columns = database.prepare<{ name: string }>("SELECT name FROM pragma_table_info(?)");
  return database
    .prepare<{ name: string; isVirtual: number }>(SQLITE_TABLES)
    .all()
    .filter(({ name }) => !OWN.has(name))
    .map(({ name, isVirtual }) => ({
      name,
      columns: [...(isVirtual ? ["rowid"] : []), ...columns.all(name).map((column) => column.name)],
      last: last?.get(name)?.seq,
    }));
}

async function openSqliteSource(path: string, inUse: boolean): Promise<Source> {
  if (!existsSync(path)) throw new StoreError("invalid", "there is no database");
  const unlock = inUse ? () => undefined : takeWriteLock(path);
  try {
    const file = new SqliteDatabase(path, { readonly: true, timeout: 5_000 });
    file.exec("BEGIN");
    const database: Database = {
      prepare: <Found>(sql: string) => file.prepare<unknown[], Found>(sql),
      exec: (sql) => void file.exec(sql),
      inTransaction: true,
      close: () => void file.close(),
    };
    return {
      database,
      tables: () => sqliteTables(database),
      rows: ({ name, columns }) =>
        file
          .prepare<[], Row>(`SELECT ${columns.map((column) => `"${column}"`).join(", ")} FROM "${name}"`)
          .raw()
          .safeIntegers()
          .iterate(),
      async close() {
        file.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function openSqliteTarget(path: string, modules: Modules): Promise<Target> {
  if (existsSync(path)) throw new StoreError("invalid", "there is a database already; name a new one");
  const partial = `${path}.partial`;
  for (const end of ["", "-wal", "-shm"]) rmSync(`${partial}${end}`, { force: true });
  createPrivate(partial);
  const database = openDatabase(partial, false);
  migrate(database, modules);
  return {
    database,
    tables: () => sqliteTables(database),
    count(table, last) {
      database.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(table);
      database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(table, last);
    },
    open: (tables) => openSqliteReader(partial, tables),
    complete: () => rename(partial, path),
    close: async () => database.close(),
  };
}

const POSTGRES_TABLES = `SELECT c.relname AS name, array_to_json(array(
    SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum))::text AS columns,
  (SELECT pg_get_serial_sequence(format('%I', c.relname), a.attname) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attidentity <> '') AS counter
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.oid`;

interface PostgresTable {
  readonly name: string;
  readonly columns: string;
  readonly counter: string | null;
}

function postgresTables(database: Database): Table[] {
  return database
    .prepare<PostgresTable>(POSTGRES_TABLES)
    .all()
    .filter(({ name }) => !OWN.has(name))
    .map(({ name, columns, counter }) => ({
      name,
      columns: JSON.parse(columns),
      last: counter === null ? undefined : lastOf(database, counter),
    }));
}

function lastOf(database: Database, counter: string): number | undefined {
  const row = database.prepare<{ last: number; used: number }>(
    `SELECT last_value AS last, is_called AS used FROM ${counter}`,
  );
  const { last, used } = row.get() ?? {};
  return used ? last : undefined;
}

/** Rows that are fetched at once. */
const PAGE = 64;

async function openPostgresSource(address: PostgresAddress, inUse: boolean): Promise<Source> {
  const { database, close } = await connect(address);
  try {
    if (!database.prepare(HAS_TABLES).get()) throw new StoreError("invalid", "there is no store of Reins");
    database.begin(`ISOLATION LEVEL REPEATABLE READ${inUse ? " READ ONLY" : ""}`);
    if (!inUse) excludeWriters(database);
  } catch (error) {
    await close();
    throw error;
  }
  let cursors = 0;
  return {
    database,
    tables: () => postgresTables(database),
    *rows({ name, columns }) {
      cursors += 1;
      const cursor = `copy_${cursors}`;
      const wanted = columns.map((column) => `"${column}"`).join(", ");
      database.run(`DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${wanted} FROM "${name}"`);
      const fetch = database.prepare<object>(`FETCH ${PAGE} FROM ${cursor}`);
      for (let page = fetch.all(); page.length > 0; page = fetch.all())
        for (const row of page) yield Object.values(row);
      database.run(`CLOSE ${cursor}`);
    },
    close,
  };
}

const HAS_TABLES = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() LIMIT 1";

async function openPostgresTarget(address: PostgresAddress, modules: Modules): Promise<Target> {
  const { database, close } = await connect(address);
  try {
    makeReady(database, address.schema, () => {
      if (database.prepare(HAS_TABLES).get())
        throw new StoreError("invalid", "the schema is not empty; name a new one, or drop this one");
    });
    migrate(database, modules);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    database,
    tables: () => postgresTables(database),
    count(table, last) {
      const set =
        "SELECT setval(pg_get_serial_sequence(format('%I', ?), a.attname), ?::bigint) FROM pg_attribute a";
      const column = "WHERE a.attrelid = format('%I', ?)::regclass AND a.attidentity <> ''";
      database.prepare(`${set} ${column}`).get(table, last, table);
    },
    open: (tables) => openPostgresReader(address, tables, { acceptLoss: true }),
    async complete() {
      const connected = await connect(address);
      try {
        connected.database.run("UPDATE store_state SET incomplete = false");
      } finally {
        await connected.close();
      }
    },
    close,
  };
}

async function connect(address: PostgresAddress) {
  const { links, connector } = startConnector({ address }, 1);
  const [link] = links;
  if (!link) throw new StoreError("io", "there is no connection");
  const database = new PostgresDatabase(link);
  const close = async () => {
    await database.end();
    database.close();
    await connector.terminate();
  };
  try {
    await database.connect(settingsFor(address.schema));
  } catch (error) {
    await close();
    throw error;
  }
  return { database, close };
}
