import type { Database } from "@reins/store";

/** How many writes there were, and after how many to die; shared with the thread that writes. */
export class Writes {
  readonly shared: SharedArrayBuffer;
  readonly #counts: Int32Array;

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared;
    this.#counts = new Int32Array(shared);
  }

  /** Dies after that many more; 0 calls it off. */
  dieAfter(writes: number): void {
    Atomics.store(this.#counts, 0, writes);
  }

  /** How many there were so far. */
  get passed(): number {
    return Atomics.load(this.#counts, 1);
  }

  /** Counts one, or ends the process: no handler runs, nothing is flushed. */
  pass(): void {
    Atomics.add(this.#counts, 1, 1);
    if (Atomics.load(this.#counts, 0) > 0 && Atomics.sub(this.#counts, 0, 1) === 1)
      process.kill(process.pid, "SIGKILL");
  }
}

/** A database in which the process can die before and after every write, begins and ends of transactions included. */
export default function deadly(database: Database, { shared }: { shared: SharedArrayBuffer }): Database {
  const writes = new Writes(shared);
  const around = <Result>(write: () => Result): Result => {
    writes.pass();
    const result = write();
    writes.pass();
    return result;
  };
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
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
