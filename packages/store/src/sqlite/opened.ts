import type { Database, OpenTables, Statement, TablesModule } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { CommitMark } from "./commit-mark.ts";
import { examine, PageSums, refuseLosses, type StoreLoss } from "./examine.ts";
import { scrub, takeLogOver } from "./maintenance.ts";
import { expectMigrated, migrate } from "./migrate.ts";
import { backUp, createPrivate, type DatabaseFile, openDatabase, takeWriteLock } from "./sqlite-database.ts";
import { type Outcome, type ThreadData, translate, type Write } from "./threads.ts";
import { type Safeguards, Writer } from "./writer.ts";

/** Lets a query of several statements see one state of the database. */
class Snapshot {
  readonly #begin: Statement;
  readonly #end: Statement;

  constructor(database: Database) {
    this.#begin = database.prepare("BEGIN");
    this.#end = database.prepare("COMMIT");
  }

  /** Everything read inside is of the moment of the first statement. */
  read<Result>(run: () => Result): Result {
    this.#begin.run();
    try {
      return run();
    } finally {
      this.#end.run();
    }
  }
}

/** The modules of the tables, by name, in the order in which they were given. */
export type Modules = ReadonlyMap<string, TablesModule>;

/** An open database with its tables, in the thread that owns it. */
export class Opened {
  /** What it lacks, and is open all the same. */
  readonly losses: readonly StoreLoss[];
  readonly #file: DatabaseFile;
  readonly #tables: ReadonlyMap<string, OpenTables>;
  readonly #writer: Writer | undefined;
  readonly #snapshot: Snapshot;
  readonly #backups = new Set<string>();
  readonly #held: Held | undefined;
  #isClosed = false;

  private constructor(
    file: DatabaseFile,
    database: Database,
    tables: ReadonlyMap<string, OpenTables>,
    held: Held | undefined,
  ) {
    this.#file = file;
    this.#tables = tables;
    this.#snapshot = new Snapshot(database);
    this.#held = held;
    this.losses = held?.losses ?? [];
    if (held) this.#writer = new Writer(database, tables, held.safeguards);
  }

  /** Opens the database; the writer locks it first, looks whether anything is missing, and migrates it. */
  static async open(data: ThreadData, modules: Modules): Promise<Opened> {
    let held: Held | undefined;
    let unlock: (() => void) | undefined;
    let file: DatabaseFile | undefined;
    try {
      if (data.role === "writer") unlock = takeWriteLock(data.path);
      const { losses, isSummed } = unlock ? examine(data.path) : { losses: [], isSummed: true };
      if (!data.acceptLoss) refuseLosses(losses);
      if (unlock) createPrivate(data.path);
      file = openDatabase(data.path, data.role === "reader");
      if (losses.length > 0) expectReadable(file);
      const database = await wrapped(file, data);
      if (unlock) {
        migrate(database, modules);
        held = { losses, safeguards: safeguardsOf(data.path, database, isSummed), unlock };
      } else expectMigrated(database, modules);
      return new Opened(file, database, await openTables(database, data, modules), held);
    } catch (error) {
      held?.safeguards.mark.abandon();
      if (file && unlock) keepSums(file, held?.safeguards.sums ?? new PageSums(data.path));
      file?.close();
      unlock?.();
      const { code, message } = translate(error);
      throw new StoreError(code, `${data.path}: ${message}`, { cause: error });
    }
  }

  /** Writes commits; returns the outcome of each. */
  apply(writes: readonly Write[]): Outcome[] {
    if (!this.#writer) throw new StoreError("invalid", "a reader does not write");
    return this.#writer.apply(writes);
  }

  /** Shortens the log after a batch was answered. */
  shorten(): void {
    this.#writer?.shorten();
  }

  /** Prepares for the next commit when the queue is empty. */
  rest(): void {
    this.#writer?.rest();
  }

  /** Does maintenance when the store is idle; returns whether more is left. */
  tidy(): boolean {
    return !this.#isClosed && (this.#writer?.tidy() ?? false);
  }

  /** Runs a query; all it reads is of the same moment. */
  query(tables: string, name: string, args: unknown): unknown {
    const queries = this.#tables.get(tables)?.queries;
    const query = queries && Object.hasOwn(queries, name) ? queries[name] : undefined;
    if (!query) throw new StoreError("invalid", `there is no query "${tables}.${name}"`);
    return this.#snapshot.read(() => query(args));
  }

  /** Copies the database to a new file. */
  async backup(path: string): Promise<void> {
    if (this.#backups.has(path)) throw new StoreError("invalid", `${path} is being written already`);
    this.#backups.add(path);
    try {
      await backUp(this.#file, path);
    } catch (error) {
      throw this.#isClosed
        ? new StoreError("closed", "the store was closed before the copy was whole")
        : error;
    } finally {
      this.#backups.delete(path);
    }
  }

  /** Leaves nothing in the files of what was deleted. */
  scrub(): void {
    scrub(this.#file, this.#held?.safeguards.sums);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      if (this.#held) closeInOrder(this.#file, this.#held.safeguards);
    } finally {
      this.#file.close();
      this.#held?.unlock();
    }
  }
}

/** What the writer of a database has beside it. */
interface Held {
  readonly losses: readonly StoreLoss[];
  readonly safeguards: Safeguards;
  readonly unlock: () => void;
}

/** The sums of a database that has none, or whose damage was accepted, are made anew. */
function safeguardsOf(path: string, database: Database, isSummed: boolean): Safeguards {
  const sums = new PageSums(path);
  if (!isSummed) {
    sums.remove();
    sums.build();
  }
  return { mark: new CommitMark(database, path), sums };
}

/** A database with pieces missing may be none any more. */
function expectReadable(file: DatabaseFile): void {
  const rows = file.prepare("PRAGMA integrity_check(3)").all();
  const found = rows.map((row) => Object.values(row ?? {}).join(" ")).join("; ");
  if (found !== "ok")
    throw new StoreError("corrupt", `the database cannot be used as it is: ${found}; restore a backup`);
}

/** Updates the sums before closing a database that could not be opened: closing it checkpoints the log. */
function keepSums(file: DatabaseFile, sums: PageSums): void {
  try {
    takeLogOver(file, sums);
  } catch {
    // Sums that are not those of the pages would be taken for damage; the next start makes them anew.
    sums.remove();
  } finally {
    sums.close();
  }
}

function closeInOrder(file: DatabaseFile, { mark, sums }: Safeguards): void {
  try {
    takeLogOver(file, sums);
    mark.close(file);
  } catch {
    // A disk that failed: the next start looks at what is there.
  } finally {
    sums.close();
  }
}

/** Loads what the tables' packages brought. */
export async function loadModules({ tables }: Pick<ThreadData, "tables">): Promise<Modules> {
  const modules = new Map<string, TablesModule>();
  for (const { name, module } of tables) modules.set(name, (await import(module)).default);
  return modules;
}

async function wrapped(file: DatabaseFile, { wrap }: ThreadData): Promise<Database> {
  return wrap ? (await import(wrap.module)).default(file, wrap.settings) : file;
}

/** Prepares the operations of the tables. */
export async function openTables(
  database: Database,
  data: Pick<ThreadData, "tables">,
  modules: Modules,
): Promise<ReadonlyMap<string, OpenTables>> {
  const tables = new Map<string, OpenTables>();
  for (const { name } of data.tables) {
    const opened = await modules.get(name)?.open(database);
    if (opened) tables.set(name, opened);
  }
  return tables;
}
