import SqliteDatabase from "better-sqlite3";
import { INSERT, rowAt, SCHEMA } from "./row.ts";

/** The measure of all things: SQLite in this thread, with nothing around it. */
export class RawDatabase {
  readonly #database: SqliteDatabase.Database;
  readonly #insert: SqliteDatabase.Statement;
  readonly #begin: SqliteDatabase.Statement;
  readonly #commit: SqliteDatabase.Statement;
  #next = 0;

  /** Opens an empty database, whose transactions wait for the disk or do not. */
  constructor(path: string, durable: boolean) {
    this.#database = new SqliteDatabase(path);
    this.#database.pragma("journal_mode = WAL");
    this.#database.pragma(`synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#database.pragma("cache_size = -65536");
    this.#database.exec(SCHEMA);
    this.#insert = this.#database.prepare(INSERT);
    this.#begin = this.#database.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#database.prepare("COMMIT");
  }

  /** Writes some rows in one transaction. */
  write(count: number): void {
    this.#begin.run();
    for (const end = this.#next + count; this.#next < end; this.#next += 1) {
      const { seq, cid, entity, body } = rowAt(this.#next);
      this.#insert.run(seq, cid, entity, body);
    }
    this.#commit.run();
  }

  close(): void {
    this.#database.close();
  }
}
