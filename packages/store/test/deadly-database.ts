import type { Database } from "../src/index.ts";

/** Counts writes and crashes after a number of them; shared with the writing thread. */
export class Writes {
  readonly shared: SharedArrayBuffer;
  readonly #counts: Int32Array;

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared;
    this.#counts = new Int32Array(shared);
  }

  /** Crashes after that many more writes; never if 0. */
  dieAfter(writes: number): void {
    Atomics.store(this.#counts, 0, writes);
  }

  /** The writes so far. */
  get passed(): number {
    return Atomics.load(this.#counts, 1);
  }

  /** Counts a write or kills the process: no handler runs, nothing is flushed. */
  pass(): void {
    Atomics.add(this.#counts, 1, 1);
    if (Atomics.load(this.#counts, 0) > 0 && Atomics.sub(this.#counts, 0, 1) === 1)
      process.kill(process.pid, "SIGKILL");
  }
}

/** A database that can crash the process before and after every write, including begin and commit. */
export default function deadly(database: Database, { shared }: { shared: SharedArrayBuffer }): Database {
  const writes = new Writes(shared);
  const around = <Result>(write: () => Result): Result => {
    writes.pass();
    const result = write();
    writes.pass();
    return result;
  };
  return {
    prepare<Row>(sql: string) {
      const statement = database.prepare<Row>(sql);
      return {
        run: (...parameters) => around(() => statement.run(...parameters)),
        get: (...parameters) => statement.get(...parameters),
        all: (...parameters) => statement.all(...parameters),
      };
    },
    exec: (sql) => around(() => database.exec(sql)),
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => database.close(),
  };
}
