/** How a commit is to be kept. */
export interface CommitOptions {
  /**
   * Whether it must survive a power cut. If not, it survives the death of the process but is not waited for on the
   * disk. By default it must.
   */
  readonly durable?: boolean;
  /** Whether it may wait: it is sent with the next commit, or by itself within a few milliseconds. */
  readonly relaxed?: boolean;
  /** The lease under which the writer acts; a commit of an older owner is refused. */
  readonly lease?: Lease;
}

/** The right to act for something, such as a session, until it passes on. */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Grows with every owner; a write that names an older one is refused. */
  readonly epoch: number;
  /** When it ends unless renewed, in milliseconds since 1970. */
  readonly expires: number;
}

/** The result of a commit: that of each change, in order. */
export type Results<Changes extends readonly Change<unknown>[]> = {
  [Index in keyof Changes]: Changes[Index] extends Change<infer Result> ? Result : never;
};

/** One of several processes that write to a database at the same time. */
export interface StoreNode {
  /** Its name, which no other has, and which it keeps when it is started anew. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** How many sessions it is for; without it as many as come. */
  readonly capacity?: number;
}

/** The part of a store that only reads. */
export interface StoreReader {
  /**
   * Reads; sees every commit that had settled when it was asked, and one state of the database however many statements
   * it takes.
   */
  query<Queries extends Operations, Name extends keyof Queries & string>(
    tables: Tables<Operations, Queries>,
    name: Name,
    args: Parameters<Queries[Name]>[0],
  ): Promise<ReturnType<Queries[Name]>>;

  /** Copies the database to a new file, while writes continue. */
  backup(path: string): Promise<void>;
  /** Closes the database. May be called twice. */
  close(): Promise<void>;
}

/**
 * The database. One commit changes whatever tables it likes, all or nothing; commits are applied in the order in
 * which they were asked for. Every rejection is a {@link StoreError}.
 */
export interface Store extends StoreReader {
  /** Why nothing can be written at the moment, though it may be later; `undefined` while all is well. */
  readonly outage?: string | undefined;
  /** What this process is called among others that write to the database; `undefined` where it is the only one. */
  readonly node?: StoreNode | undefined;

  /**
   * Calls back when another process may have changed tables whose module {@link TablesModule.announces} that; returns
   * `unsubscribe`. Not there where no other process writes.
   */
  watch?(tables: Tables<Operations, Operations>, listener: () => void): () => void;

  /** Applies the changes together. Settles when they are kept as asked; until then their arguments stay as they are. */
  commit<const Changes extends readonly Change<unknown>[]>(
    changes: Changes,
    options?: CommitOptions,
  ): Promise<Results<Changes>>;

  /** Takes a lease that is free, has expired, or belongs to the owner already; else `undefined`. */
  claim(name: string, owner: string, milliseconds: number): Promise<Lease | undefined>;
  /** Holds a lease for longer; `undefined` when it has passed on. */
  renew(lease: Lease, milliseconds: number): Promise<Lease | undefined>;
  /** Releases a lease; nothing more can be written under it. */
  release(lease: Lease): Promise<void>;

  /**
   * Writes the whole database anew, so that nothing of what was deleted or replaced before is left in its files. Takes a
   * while and room for a second copy; rejects as `locked` while another reader is active.
   */
  scrub(): Promise<void>;

  /** Flushes the queue, then closes the database. May be called twice. */
  close(): Promise<void>;
}

/** A prepared statement. Tables are strict, so its rows hold what the statement selects, as `Row` says. */
export interface Statement<Row = unknown> {
  /** What it changed may be read as long as its transaction is open. */
  run(...parameters: readonly unknown[]): { readonly changes: number };
  get(...parameters: readonly unknown[]): Row | undefined;
  all(...parameters: readonly unknown[]): Row[];
}

/**
 * The database as tables and the writer see it. It is a port: faults of the disk are injected here, and everything
 * that reaches the disk does so through {@link exec} and statements.
 */
export interface Database {
  prepare<Row = unknown>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** Whether a transaction is open; some failures end it without being asked. */
  readonly inTransaction: boolean;
  /** SQLite where nothing is said. Statements are written for both, but for what one of them lacks. */
  readonly kind?: "postgres";
  /** Whether other processes may write to it at the same time. */
  readonly isShared?: boolean;
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
  /** Carries the types; never there. */
  readonly types?: { readonly changes: Changes; readonly queries: Queries };
}

/** SQL that makes or alters tables; apart for each database only where one lacks what the other has. */
export type Migration = string | Readonly<Record<"sqlite" | "postgres", string>>;

/** What the module of {@link Tables} exports as its default. */
export interface TablesModule {
  /** Each is run once, in order, and never changed afterwards. */
  readonly migrations: readonly Migration[];
  /** The changes of which other processes are notified. Costly, because all of them are: for what is rare and urgent. */
  readonly announces?: readonly string[];
  /** Prepares the operations on an open database. Run anew after anything that may have undone writes. */
  open(database: Database): OpenTables | Promise<OpenTables>;
}

/** Operations on an open database. */
export interface OpenTables {
  /** Each runs inside the transaction of its commit and may throw to undo the whole commit. */
  readonly changes: Operations;
  /** Read only; they run beside the writer and see what was committed before they were asked. */
  readonly queries: Operations;
  /**
   * Called where other processes write, too, at the beginning of a transaction, with the changes of these tables in it:
   * locks what they depend on, and no more. Without it, processes change these tables one after another. Either way what
   * was read before may have changed, so nothing that others may change is kept in memory.
   */
  reserve?(changes: readonly Pick<Change<unknown>, "name" | "args">[]): void;
  /** Called when everything since the last call was undone; state kept in memory must be read again. */
  undone?(): void;
  /**
   * Called when the store is idle: returns maintenance to do, if any. It runs in a transaction
   * of its own, which is not durable. Should it fail, it is tried again.
   */
  chore?(): (() => void) | undefined;
}

/** One change of a commit, to be made with `change`. */
export interface Change<Result> {
  readonly tables: string;
  readonly name: string;
  readonly args: unknown;
  /** Carries the type of the change's result; never there. */
  readonly result?: Result;
}
