import { MarkFile } from "../sqlite/commit-mark.ts";
import type { StoreLoss } from "../sqlite/examine.ts";
import { expectMigrated, migrate } from "../sqlite/migrate.ts";
import { type Modules, openTables } from "../sqlite/opened.ts";
import type { Outcome, ThreadData, Write } from "../sqlite/threads.ts";
import { Writer } from "../sqlite/writer.ts";
import type { OpenTables, StoreNode } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { NodeClaim, PostgresTransaction, type Unresolved } from "./claim.ts";
import { FUNCTIONS, FUNCTIONS_VERSION, STORE_TABLES } from "./dialect.ts";
import type { LinkEnd } from "./messages.ts";
import { PostgresDatabase } from "./postgres-database.ts";

/** What a thread of a store in PostgreSQL is started with. */
export interface PostgresThreadData extends Pick<ThreadData, "role" | "tables" | "maxBatch" | "acceptLoss"> {
  readonly link: LinkEnd;
  readonly schema: string;
  /** Where it is noted how far the database had come, to notice when it is replaced by an older copy. */
  readonly mark?: string | undefined;
  /** What this process is called among others that write; without it it has the database to itself. */
  readonly node?: StoreNode | undefined;
  /** Not 0 while the database cannot be reached. */
  readonly status: Int32Array;
}

/** Of every session. A transaction of a process that was stopped does not hold the others up. */
export function settingsFor(schema: string, { isShared = false } = {}): string[] {
  return [
    `SET search_path = "${schema}"`,
    "SET client_min_messages = warning",
    "SET standard_conforming_strings = on",
    "SET bytea_output = hex",
    "SET TIME ZONE 'UTC'",
    "SET lock_timeout = '10s'",
    `SET idle_in_transaction_session_timeout = '${isShared ? 5 : 20}s'`,
  ];
}

/** A database in PostgreSQL in the thread that writes to it. */
export class PostgresWriter {
  readonly #data: PostgresThreadData;
  readonly #modules: Modules;
  readonly #database: PostgresDatabase;
  readonly #claim: NodeClaim;
  #mark: CommitCount | undefined;
  #transaction: PostgresTransaction | undefined;
  #writer: Writer | undefined;
  /** How many transactions this process knows to be kept. */
  #count = 0;

  constructor(
    data: PostgresThreadData,
    modules: Modules,
    database = new PostgresDatabase(data.link, { isShared: data.node !== undefined }),
    now?: () => number,
  ) {
    this.#data = data;
    this.#modules = modules;
    this.#database = database;
    this.#claim = new NodeClaim(database, data.node, now);
  }

  get isLost(): boolean {
    return this.#database.isLost;
  }

  /** Commits of the last batch of which it is not known whether they were kept. */
  get unresolved(): Unresolved | undefined {
    return this.#transaction?.unresolved;
  }

  /** Connects, claims the database, brings it up to date, and opens the tables. */
  async open(): Promise<readonly StoreLoss[]> {
    const database = this.#database;
    await this.#connect();
    makeReady(database, this.#data.schema);
    const { count } = this.#claim.take();
    migrate(database, this.#modules, () => {
      this.#claim.fence();
      database.prepare("SELECT 1 FROM store_state FOR UPDATE").get();
    });
    this.#count = count + 1;
    const { mark, node } = this.#data;
    if (mark !== undefined) this.#mark = new CommitCount(mark, identityOf(database, node));
    const missing = this.#mark?.missing(this.#count) ?? 0;
    if (missing > 0 && !this.#data.acceptLoss) throw lostCommits(missing);
    await this.#openTables();
    return missing > 0 ? [{ kind: "rolled_back", text: lostCommits(missing).message }] : [];
  }

  /** Connects again after a loss; returns whether what was unresolved had been kept. */
  async resume(): Promise<boolean> {
    const { unresolved } = this;
    await this.#connect();
    const { count } = this.#claim.take();
    if (count < this.#count) throw lostCommits(this.#count - count);
    this.#count = count;
    await this.#openTables();
    return unresolved !== undefined && count === unresolved.count;
  }

  /** The outcome of each write, in order. */
  apply(writes: readonly Write[]): Outcome[] {
    if (!this.#writer) throw new StoreError("unavailable", "the database is not open");
    return this.#writer.apply(writes);
  }

  /** How often the claim is to be renewed, in milliseconds. */
  get renewMs(): number {
    return this.#claim.term.renewMs;
  }

  renew(): void {
    this.#claim.renew();
  }

  tidy(): void {
    this.#writer?.chores();
    this.#mark?.sync();
  }

  /** Writes each table anew, without what was deleted. The log of PostgreSQL keeps that until it is recycled. */
  scrub(): void {
    const tables = this.#database
      .prepare<{ name: string }>(
        "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
      )
      .all();
    for (const { name } of tables) this.#database.exec(`VACUUM FULL "${name}"`);
  }

  /** Lets the next process write, unless the database cannot be reached. */
  async close(): Promise<void> {
    try {
      if (!this.isLost && this.#writer) this.#claim.release();
    } catch {
      // The claim expires, or the end of the session shows that it is over.
    }
    this.#mark?.close();
    await this.#database.end();
  }

  async #connect(): Promise<void> {
    const { schema, node } = this.#data;
    const settings = settingsFor(schema, { isShared: node !== undefined });
    const listen = node ? [`LISTEN "reins ${schema}"`] : [];
    await this.#database.connect([...settings, "SET synchronous_commit = on", ...listen]);
  }

  async #openTables(): Promise<void> {
    const onKept = (count: number) => {
      this.#count = count;
      this.#mark?.write(count);
    };
    const announced = new Map(
      [...this.#modules].map(([name, { announces = [] }]): [string, readonly string[]] => [name, announces]),
    );
    const options = { count: this.#count, announced, onKept };
    this.#transaction = new PostgresTransaction(this.#database, this.#claim, options);
    const tables = await openTables(this.#database, this.#data, this.#modules);
    this.#writer = new Writer(this.#database, this.#watched(tables), undefined, this.#transaction);
  }

  /** Tables whose database is gone cannot read again what was undone; they are opened anew with the next connection. */
  #watched(tables: ReadonlyMap<string, OpenTables>): ReadonlyMap<string, OpenTables> {
    const watched = [...tables].map(([name, open]): [string, OpenTables] => [
      name,
      { ...open, undone: () => this.isLost || open.undone?.() },
    ]);
    return new Map(watched);
  }
}

/** A database in PostgreSQL in a thread that reads. */
export class PostgresReader {
  readonly #data: PostgresThreadData;
  readonly #modules: Modules;
  readonly #database: PostgresDatabase;
  #tables: ReadonlyMap<string, OpenTables> | undefined;

  constructor(
    data: PostgresThreadData,
    modules: Modules,
    database = new PostgresDatabase(data.link, { isShared: data.node !== undefined }),
  ) {
    this.#data = data;
    this.#modules = modules;
    this.#database = database;
  }

  get isLost(): boolean {
    return this.#database.isLost;
  }

  async open(): Promise<void> {
    await this.#database.connect(settingsFor(this.#data.schema));
    if (!hasStoreTables(this.#database)) {
      const text = `there is no store of Reins in schema ${this.#data.schema}; start a server with it once`;
      throw new StoreError("older", text);
    }
    const row = this.#database.prepare<{ incomplete: number }>("SELECT incomplete FROM store_state").get();
    if (row?.incomplete && !this.#data.acceptLoss)
      throw new StoreError("invalid", "a copy into this database was not completed");
    expectMigrated(this.#database, this.#modules, { mayBeNewer: this.#data.node !== undefined });
    this.#tables = await openTables(this.#database, this.#data, this.#modules);
  }

  /** Runs a query; all it reads is of the same moment. */
  query(tables: string, name: string, args: unknown): unknown {
    const queries = this.#tables?.get(tables)?.queries;
    const query = queries && Object.hasOwn(queries, name) ? queries[name] : undefined;
    if (!query) throw new StoreError("invalid", `there is no query "${tables}.${name}"`);
    this.#database.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY");
    try {
      return query(args);
    } finally {
      this.#database.release();
    }
  }

  async close(): Promise<void> {
    await this.#database.end();
  }
}

/**
 * Makes what every store has: the schema, the functions that statements use, and its own tables. One that is made
 * for a copy, unless that is to be refused, is incomplete at first.
 */
export function makeReady(database: PostgresDatabase, schema: string, refuse?: () => void): void {
  const there = database.prepare("SELECT 1 FROM pg_namespace WHERE nspname = ?").get(schema);
  database.exec("BEGIN");
  try {
    // One process at a time, whichever comes first.
    database.prepare("SELECT pg_advisory_xact_lock(hashtext('reins'), hashtext(?))").get(schema);
    if (!there) database.exec(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    refuse?.();
    if (!hasStoreTables(database)) database.run(STORE_TABLES);
    if (refuse) database.exec("UPDATE store_state SET incomplete = true");
    const row = database.prepare<{ functions: number }>("SELECT functions FROM store_state").get();
    if ((row?.functions ?? 0) < FUNCTIONS_VERSION) {
      database.run(FUNCTIONS);
      database.prepare("UPDATE store_state SET functions = ?").run(FUNCTIONS_VERSION);
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function hasStoreTables(database: PostgresDatabase): boolean {
  const sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'store_state'";
  return database.prepare(sql).get() !== undefined;
}

/** Of the transactions that are counted: each node counts its own. */
function identityOf(database: PostgresDatabase, node: StoreNode | undefined): string {
  const { identity = "" } =
    database.prepare<{ identity: string }>("SELECT identity FROM store_state").get() ?? {};
  return node ? `${identity}/${node.id}` : identity;
}

/** How many transactions a database had, in a file beside the home: see `CommitMark`, which does it for SQLite. */
class CommitCount {
  readonly #file: MarkFile;
  readonly #identity: string;
  readonly #noted: number;

  constructor(path: string, identity: string) {
    const content = MarkFile.read(path);
    const isOfThis = typeof content === "object" && content.identity === identity;
    this.#noted = isOfThis ? Number(content.count) : 0;
    this.#file = new MarkFile(path);
    this.#identity = identity;
  }

  /** How many of the transactions that were noted are not there. */
  missing(count: number): number {
    return this.#noted - count;
  }

  write(count: number): void {
    try {
      this.#file.write({ identity: this.#identity, count });
    } catch {
      // The transaction is committed; an older note only detects less.
    }
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }
}

function lostCommits(missing: number): StoreError {
  return new StoreError(
    "lost",
    `the last ${missing} commits are missing: an older copy of the database was put in its place`,
  );
}
