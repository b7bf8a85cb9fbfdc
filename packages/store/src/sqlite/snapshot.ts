import type { Database, Statement } from "../database.ts";

/** Lets a query of several statements see one state of the database. */
export class Snapshot {
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
