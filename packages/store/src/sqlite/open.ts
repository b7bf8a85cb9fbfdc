import type { Store } from "../store.ts";
import type { Operations, Tables } from "../tables.ts";
import type { StoreLoss } from "./examine.ts";
import { DEFAULT_LIMITS, type SqliteLimits } from "./limits.ts";
import type { DatabaseWrap } from "./messages.ts";
import { partsOf } from "./parts.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { ThreadPort } from "./thread-port.ts";

/** Where the database is and what is in it. */
export interface SqliteOptions {
  readonly path: string;
  /** The parts that packages bring. */
  readonly tables: readonly Tables<Operations, Operations>[];
  readonly limits?: Partial<SqliteLimits>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Stands between the writer and its database; for tests that break it. */
  readonly wrap?: DatabaseWrap;
  /** Opens a database that lacks something of what was written, too, if it can be used at all; by default it is refused. */
  readonly acceptLoss?: boolean;
  /** Told what a database lacks that was opened all the same. */
  readonly onLoss?: (loss: StoreLoss) => void;
}

/** A store whose threads load their code already, while whoever wants it does something else. */
export interface PreparedSqlite {
  /** Opens the database. To be called once. */
  open(): Promise<Store>;
  /** Ends the threads of one that was not opened. */
  end(): Promise<void>;
}

/** Opens a database in SQLite: a thread that writes, a thread that reads, and nothing of it on this one. */
export function openSqlite(options: SqliteOptions): Promise<Store> {
  return prepareSqlite(options).open();
}

/** Starts the threads of a store, which touch no file before it is opened. */
export function prepareSqlite(options: SqliteOptions): PreparedSqlite {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const data = { path: options.path, tables: partsOf(options.tables), maxBatch: limits.maxBatch };
  const { wrap, acceptLoss } = options;
  const writer = new ThreadPort({ ...data, role: "writer", wrap, acceptLoss });
  const reader = new ThreadPort({ ...data, role: "reader" });
  const end = async () => void (await Promise.all([writer.end(), reader.end()]));
  const open = async () => {
    try {
      for (const loss of lossesIn(await writer.ask({ kind: "open" }))) options.onLoss?.(loss);
    } catch (error) {
      await end();
      throw error;
    }
    // Nobody waits for the reader; should it not open, every query will say why.
    reader.ask({ kind: "open" }).catch(() => undefined);
    const reading = new SqliteReader(reader, limits.maxQueries);
    return new SqliteStore(writer, reading, limits, options.now ?? Date.now);
  };
  return { open, end };
}

function lossesIn(answer: unknown): readonly StoreLoss[] {
  return Array.isArray(answer) ? answer : [];
}
