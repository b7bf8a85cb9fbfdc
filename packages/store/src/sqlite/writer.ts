import SqliteDatabase from "better-sqlite3";
import type { Database, OpenTables, Statement } from "../store.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";
import type { CommitMark } from "./commit-mark.ts";
import type { PageSums } from "./examine.ts";
import { BUSY_LOG, freePages, shortenLog, takeLogOver } from "./maintenance.ts";
import { failed, type Outcome, translate, type Write } from "./threads.ts";

/** The transaction of a batch, and a mark in it to which a single commit can be taken back. */
export interface BatchTransaction {
  /** Begins; a durable transaction ends only when the disk has it, and everything before it. */
  begin(durable: boolean): void;
  /** Ends it. The outcomes are those of its commits, should it show only later that they were kept. */
  commit(outcomes?: readonly Outcome[]): void;
  /** Takes everything back, unless that happened already. */
  undo(): void;
  /** Where one commit begins; it is then kept as a part of the transaction, or taken back. */
  mark(): void;
  keep(): void;
  takeBack(): void;
  /** Makes ready for a transaction that is durable, or not. */
  expect(durable: boolean): void;
  /** Whether an error is the database's own word; a change may refuse with the same code. */
  raised(fault: StoreError): boolean;
  /** Notes what it changes, and keeps other processes from some tables until it ends; called where there are others. */
  reserve?(changes: Write["changes"], locked: readonly string[]): void;
  /** Whether the same transaction may pass when it is tried again, as after a deadlock. */
  mayRepeat?(fault: StoreError): boolean;
}

class Transaction implements BatchTransaction {
  readonly #database: Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #mark: Statement;
  readonly #keep: Statement;
  readonly #return: Statement;
  readonly #counter: CommitMark | undefined;
  #durable: boolean | undefined;

  constructor(database: Database, counter?: CommitMark) {
    this.#database = database;
    this.#counter = counter;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#mark = database.prepare("SAVEPOINT one_commit");
    this.#keep = database.prepare("RELEASE one_commit");
    this.#return = database.prepare("ROLLBACK TO one_commit");
  }

  begin(durable: boolean): void {
    this.expect(durable);
    this.#begin.run();
  }

  expect(durable: boolean): void {
    if (this.#durable === durable) return;
    this.#database.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#durable = durable;
  }

  commit(): void {
    this.#counter?.raise();
    try {
      this.#commit.run();
    } catch (error) {
      const fault = translate(error);
      if (fault.code !== "io") throw fault;
      // The end of the transaction may have reached the disk before the failure, or may still.
      const text = `${fault.message}; whether the last commits were kept shows when the store is opened anew`;
      throw new StoreError("io", text, { cause: error });
    }
    this.#counter?.kept(this.#durable === true);
  }

  /** Some failures of the disk have taken everything back already. */
  undo(): void {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
  }

  mark(): void {
    this.#mark.run();
  }

  keep(): void {
    this.#keep.run();
  }

  takeBack(): void {
    this.#return.run();
    this.#keep.run();
  }

  raised({ cause }: StoreError): boolean {
    return cause instanceof SqliteDatabase.SqliteError;
  }
}

/** Records that show, at the next start, whether something is missing or damaged. */
export interface Safeguards {
  readonly mark: CommitMark;
  readonly sums: PageSums;
}

/**
 * Applies batches of commits, each batch in one transaction. It is tried as a whole first; only when something in it
 * fails is it undone and tried again with a savepoint around each commit, so that one caller's conflict does not
 * affect others.
 */
export class Writer {
  readonly #database: Database;
  readonly #tables: ReadonlyMap<string, OpenTables>;
  readonly #transaction: BatchTransaction;
  readonly #safeguards: Safeguards | undefined;
  #broken: StoreError | undefined;

  constructor(
    database: Database,
    tables: ReadonlyMap<string, OpenTables>,
    safeguards?: Safeguards,
    transaction: BatchTransaction = new Transaction(database, safeguards?.mark),
  ) {
    this.#database = database;
    this.#tables = tables;
    this.#safeguards = safeguards;
    this.#transaction = transaction;
  }

  /** The outcome of each write, in order. Never throws. */
  apply(writes: readonly Write[]): Outcome[] {
    return (
      this.#attempt(writes, (write) => ({ results: this.#change(write) })) ??
      this.#attempt(writes, (write) => this.#changeApart(write)) ??
      // What is only found wrong at the end of a transaction is found by giving each commit its own.
      writes.flatMap((write) => this.apply([write]))
    );
  }

  /** Takes the log over into the database, if it has grown long; to be called after each batch. */
  shorten(): void {
    this.#unwatched(() => shortenLog(this.#database, this.#safeguards?.sums, BUSY_LOG));
  }

  /** Prepares, while the queue is empty, for a durable commit. */
  rest(): void {
    this.#unwatched(() => this.#transaction.expect(true));
  }

  /** Runs maintenance when the store is idle; returns whether there is more of it. */
  tidy(): boolean {
    this.chores();
    const free = this.#broken ? undefined : freePages(this.#database);
    this.#unwatched(() => this.#do(free));
    // The file is cut off only when the log is taken over.
    if (free) this.#unwatched(() => void takeLogOver(this.#database, this.#safeguards?.sums));
    this.#unwatched(() => shortenLog(this.#database, this.#safeguards?.sums));
    this.#unwatched(() => this.#safeguards?.mark.sync());
    this.rest();
    return free !== undefined && !this.#broken;
  }

  /** Runs the maintenance of the tables. */
  chores(): void {
    for (const [name, tables] of this.#tables) this.#unwatched(() => this.#do(tables.chore?.(), name));
  }

  #unwatched(run: () => void): void {
    if (this.#broken) return;
    try {
      run();
    } catch {
      // The next commit reports what is wrong.
    }
  }

  #do(chore: (() => void) | undefined, tables?: string): void {
    if (!chore) return;
    try {
      this.#transaction.begin(false);
      if (this.#database.isShared && tables !== undefined) this.#transaction.reserve?.([], [tables]);
      chore();
      this.#transaction.commit();
    } catch (error) {
      throw this.#undo(translate(error));
    }
  }

  /** Writes a batch; returns `undefined` when it was undone because of a commit that is not known. */
  #attempt(
    writes: readonly Write[],
    change: (write: Write) => Outcome,
    repeats = MOST_REPEATS,
  ): Outcome[] | undefined {
    if (this.#broken) return allFailed(writes, this.#broken);
    try {
      this.#transaction.begin(writes.some(({ durable }) => durable));
      if (this.#database.isShared) this.#reserve(writes);
      const outcomes = writes.map(change);
      this.#transaction.commit(outcomes);
      return outcomes;
    } catch (error) {
      const fault = this.#undo(translate(error));
      if (repeats > 0 && this.#transaction.mayRepeat?.(fault))
        return this.#attempt(writes, change, repeats - 1);
      return writes.length === 1 || this.#isOfTheDisk(fault) ? allFailed(writes, fault) : undefined;
    }
  }

  /** Keeps other processes from what a batch is about to change. */
  #reserve(writes: readonly Write[]): void {
    const changes = writes.flatMap((write) => write.changes);
    const byTables = Map.groupBy(changes, ({ tables }) => tables);
    const whole = [...byTables.keys()].filter((name) => !this.#tables.get(name)?.reserve);
    this.#transaction.reserve?.(changes, whole);
    for (const [name, own] of byTables) this.#tables.get(name)?.reserve?.(own);
  }

  #change({ changes }: Write): unknown[] {
    // Not by `map`: what that makes is copied to the main thread like an array with holes, in twice the time.
    const results: unknown[] = [];
    for (const { tables, name, args } of changes) {
      const operations = this.#tables.get(tables)?.changes;
      const operation = operations && Object.hasOwn(operations, name) ? operations[name] : undefined;
      if (!operation) throw new StoreError("invalid", `there is no change "${tables}.${name}"`);
      results.push(operation(args));
    }
    return results;
  }

  #changeApart(write: Write): Outcome {
    this.#transaction.mark();
    try {
      const results = this.#change(write);
      this.#transaction.keep();
      return { results };
    } catch (error) {
      const fault = translate(error);
      if (this.#isOfTheDisk(fault)) throw fault;
      this.#transaction.takeBack();
      this.#notifyUndone();
      return failed(fault);
    }
  }

  /**
   * Takes everything back. A disk that failed once is not trusted again: after a refused fsync, the next one says
   * nothing about what came before it.
   */
  #undo(fault: StoreError): StoreError {
    try {
      this.#transaction.undo();
      if (this.#isOfTheDisk(fault, ["io", "corrupt"])) this.#broken = fault;
      this.#notifyUndone();
    } catch (error) {
      this.#broken ??= new StoreError("io", `what failed cannot be undone: ${translate(error).message}`);
    }
    return this.#broken ?? fault;
  }

  #notifyUndone(): void {
    for (const tables of this.#tables.values()) tables.undone?.();
  }

  /**
   * Whether a fault says something about the disk rather than about a commit, so that trying the commits one by one
   * would not help. A change may refuse with such a code too; only the database's own word counts.
   */
  #isOfTheDisk(fault: StoreError, codes = OF_THE_DISK): boolean {
    return codes.includes(fault.code) && this.#transaction.raised(fault);
  }
}

/** How often a batch is tried again that could not be done beside those of other processes. */
const MOST_REPEATS = 5;

const OF_THE_DISK: readonly StoreErrorCode[] = ["full", "io", "corrupt", "locked", "unavailable"];

function allFailed(writes: readonly Write[], fault: StoreError): Outcome[] {
  return writes.map(() => failed(fault));
}
