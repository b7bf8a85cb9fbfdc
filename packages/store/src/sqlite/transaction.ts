import type { Database, Statement } from "../database.ts";
import { StoreError } from "../store-error.ts";
import type { CommitMark } from "./commit-mark.ts";
import { translate } from "./translate.ts";

/** The transaction of a batch, and a mark in it to which a single commit can be taken back. */
export class Transaction {
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
