/** A prepared statement. */
export interface Statement {
  run(...parameters: readonly unknown[]): {
    readonly changes: number;
    readonly lastInsertRowid: number | bigint;
  };
  get(...parameters: readonly unknown[]): unknown;
  all(...parameters: readonly unknown[]): unknown[];
}

/**
 * The database as tables and the writer see it. It is a port: faults of the disk are injected here, and everything
 * that reaches the disk does so through {@link exec} and statements.
 */
export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  /** Whether a transaction is open; some failures end it without being asked. */
  readonly inTransaction: boolean;
  close(): void;
}

/** Functions by name, each with one argument; the arguments and results of changes and queries. */
// biome-ignore lint/suspicious/noExplicitAny: the argument of a function is contravariant, only `any` admits them all
export type Operations = { readonly [name: string]: (args: any) => unknown };

/**
 * A package's own part of the database, by name. The operations themselves are in a module that is loaded where the
 * database lives; arguments and results cross a thread, so they are plain data.
 */
export interface Tables<Changes extends Operations, Queries extends Operations> {
  readonly name: string;
  /**
   * Where the {@link TablesModule} is: `new URL("./thing.tables.ts", import.meta.url)`. Once built, it is looked for
   * under the same name with the extension `.js`.
   */
  readonly module: string | URL;
  /** Handed to the module when it is opened; plain data. */
  readonly settings?: unknown;
  /** Carries the types; never there. */
  readonly types?: { readonly changes: Changes; readonly queries: Queries };
}

/** What the module of {@link Tables} exports as its default. */
export interface TablesModule {
  /** SQL that makes and alters the tables; each is run once, in order, and never changed afterwards. */
  readonly migrations: readonly string[];
  /** Prepares the operations on an open database. Run anew after anything that may have undone writes. */
  open(database: Database, settings: unknown): OpenTables | Promise<OpenTables>;
}

/** Operations on an open database. */
export interface OpenTables {
  /** Each runs inside the transaction of its commit and may throw to undo the whole commit. */
  readonly changes: Operations;
  /** Read only; they run beside the writer and see what was committed before they were asked. */
  readonly queries: Operations;
  /** Called when everything since the last call was undone; state kept in memory must be read again. */
  undone?(): void;
  /**
   * Called when the store is idle: returns maintenance to do, if any. It runs in a transaction
   * of its own, which is not durable. Should it fail, it is tried again.
   */
  chore?(): (() => void) | undefined;
}

/** One change of a commit, to be made with {@link change}. */
export interface Change<Result> {
  readonly tables: string;
  readonly name: string;
  readonly args: unknown;
  /** Carries the type of the change's result; never there. */
  readonly result?: Result;
}

/** Names a change of some tables. */
export function change<Changes extends Operations, Name extends keyof Changes & string>(
  tables: Tables<Changes, Operations>,
  name: Name,
  args: Parameters<Changes[Name]>[0],
): Change<ReturnType<Changes[Name]>> {
  return { tables: tables.name, name, args };
}
