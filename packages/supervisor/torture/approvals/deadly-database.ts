import type { Database } from "@reins/store";

/** Shared with the process that owns the database: after how many boundaries to die, and how many there were. */
export class Boundaries {
  readonly shared: SharedArrayBuffer;
  readonly #counts: Int32Array;

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared;
    this.#counts = new Int32Array(shared);
  }

  /** Dies at the boundary after that many more; 0 calls it off. */
  arm(boundaries: number): void {
    Atomics.store(this.#counts, 0, boundaries);
  }

  /** How many there were so far. */
  get passed(): number {
    return Atomics.load(this.#counts, 1);
  }

  /** Passes a boundary, or dies as by a power switch: no handler runs, nothing is flushed. */
  pass(): void {
    Atomics.add(this.#counts, 1, 1);
    if (Atomics.load(this.#counts, 0) > 0 && Atomics.sub(this.#counts, 0, 1) === 1)
      process.kill(process.pid, "SIGKILL");
  }
}

/** A database with a boundary before and after everything it writes, the begin and end of transactions included. */
export default function deadly(database: Database, { shared }: { shared: SharedArrayBuffer }): Database {
  const boundaries = new Boundaries(shared);
  const within = <Result>(write: () => Result): Result => {
    boundaries.pass();
    const result = write();
    boundaries.pass();
    return result;
  };
  return {
    prepare<Row>(sql: string) {
      const statement = database.prepare<Row>(sql);
      return {
        run: (...parameters) => within(() => statement.run(...parameters)),
        get: (...parameters) => statement.get(...parameters),
        all: (...parameters) => statement.all(...parameters),
      };
    },
    exec: (sql) => within(() => database.exec(sql)),
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => database.close(),
  };
}
