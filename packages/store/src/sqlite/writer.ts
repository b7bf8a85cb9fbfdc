import SqliteDatabase from "better-sqlite3";
import type { Database, OpenTables, Statement } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { CommitMark } from "./commit-mark.ts";
import type { PageSums } from "./examine.ts";
import { BUSY_LOG, freePages, shortenLog, takeLogOver } from "./maintenance.ts";
import { failed, type Outcome, translate, type Write } from "./threads.ts";

/** The transaction of a batch, and a mark in it to which a single commit can be taken back. */
class Transaction {
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

  /** Begins; a durable transaction ends only when the disk has it, and everything before it. */
  begin(durable: boolean): void {
    this.expect(durable);
    this.#begin.run();
  }

  /** Makes ready for a transaction that is durable, or not. */
  expect(durable: boolean): void {
    if (this.#durable === durable) return;
    this.#database.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#durable = durable;
  }

  /** Ends it. */
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

  /** Takes everything back. Some failures of the disk have done so already. */
  undo(): void {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
  }

  /** Where one commit begins. */
  mark(): void {
    this.#mark.run();
  }

  /** The commit that began at the mark is to be part of the transaction. */
  keep(): void {
    this.#keep.run();
  }

  /** The commit that began at the mark is not. */
  takeBack(): void {
    this.#return.run();
    this.#keep.run();
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
  readonly #transaction: Transaction;
  readonly #safeguards: Safeguards | undefined;
  #broken: StoreError | undefined;

  constructor(database: Database, tables: ReadonlyMap<string, OpenTables>, safeguards?: Safeguards) {
    this.#database = database;
    this.#tables = tables;
    this.#safeguards = safeguards;
    this.#transaction = new Transaction(database, safeguards?.mark);
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
    for (const tables of this.#tables.values()) this.#unwatched(() => this.#do(tables.chore?.()));
    const free = this.#broken ? undefined : freePages(this.#database);
    this.#unwatched(() => this.#do(free));
    // The file is cut off only when the log is taken over.
    if (free) this.#unwatched(() => void takeLogOver(this.#database, this.#safeguards?.sums));
    this.#unwatched(() => shortenLog(this.#database, this.#safeguards?.sums));
    this.#unwatched(() => this.#safeguards?.mark.sync());
    this.rest();
    return free !== undefined && !this.#broken;
  }

  #unwatched(run: () => void): void {
    if (this.#broken) return;
    try {
      run();
    } catch {
      // The next commit reports what is wrong.
    }
  }

  #do(chore: (() => void) | undefined): void {
    if (!chore) return;
    try {
      this.#transaction.begin(false);
      chore();
      this.#transaction.commit();
    } catch (error) {
      throw this.#undo(translate(error));
    }
  }

  /** Writes a batch; returns `undefined` when it was undone because of a commit that is not known. */
  #attempt(writes: readonly Write[], change: (write: Write) => Outcome): Outcome[] | undefined {
    if (this.#broken) return allFailed(writes, this.#broken);
    try {
      this.#transaction.begin(writes.some(({ durable }) => durable));
      const outcomes = writes.map(change);
      this.#transaction.commit();
      return outcomes;
    } catch (error) {
      const fault = this.#undo(translate(error));
      return writes.length === 1 || isOfTheDisk(fault) ? allFailed(writes, fault) : undefined;
    }
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
      if (isOfTheDisk(fault)) throw fault;
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
      if (isOfTheDisk(fault, ["io", "corrupt"])) this.#broken = fault;
      this.#notifyUndone();
    } catch (error) {
      this.#broken ??= new StoreError("io", `what failed cannot be undone: ${translate(error).message}`);
    }
    return this.#broken ?? fault;
  }

  #notifyUndone(): void {
    for (const tables of this.#tables.values()) tables.undone?.();
  }
}

/**
 * Whether a fault says something about the disk rather than about a commit, so that trying the commits one by one
 * would not help. A change may refuse with such a code too; only SQLite's own word counts.
 */
function isOfTheDisk({ code, cause }: StoreError, codes = ["full", "io", "corrupt", "locked"]): boolean {
  return codes.includes(code) && cause instanceof SqliteDatabase.SqliteError;
}

function allFailed(writes: readonly Write[], fault: StoreError): Outcome[] {
  return writes.map(() => failed(fault));
}
