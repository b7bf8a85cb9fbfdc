import type { Store } from "../store.ts";
import type { Operations, Tables } from "../tables.ts";
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
}

/** Opens a database in SQLite: a thread that writes, a thread that reads, and nothing of it on this one. */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const data = { path: options.path, tables: partsOf(options.tables), maxBatch: limits.maxBatch };
  const writer = new ThreadPort({ ...data, role: "writer", wrap: options.wrap });
  const reader = new ThreadPort({ ...data, role: "reader" });
  try {
    await writer.ask({ kind: "open" });
  } catch (error) {
    await Promise.all([writer.end(), reader.end()]);
    throw error;
  }
  // Nobody waits for the reader; should it not open, every query will say why.
  reader.ask({ kind: "open" }).catch(() => undefined);
  return new SqliteStore(
    writer,
    new SqliteReader(reader, limits.maxQueries),
    limits,
    options.now ?? Date.now,
  );
}
