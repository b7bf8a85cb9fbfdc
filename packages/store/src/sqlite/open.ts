import { existsSync } from "node:fs";
import { leases } from "../leases.ts";
import type { Operations, Store, StoreReader, Tables } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { StoreLoss } from "./examine.ts";
import { SqliteReader, SqliteStore, ThreadPort } from "./sqlite-store.ts";
import type { DatabaseWrap } from "./threads.ts";

/** How much a store is willing to hold. */
export interface SqliteLimits {
  /** Commits that wait to be written, those being written included. */
  readonly maxWaiting: number;
  /** About how many bytes they may use together; a single commit may use more. */
  readonly maxWaitingBytes: number;
  /** The most commits in one transaction. */
  readonly maxBatch: number;
  /** Queries that wait for their answer. */
  readonly maxQueries: number;
}

/** What holds unless a caller says otherwise. */
export const DEFAULT_LIMITS: SqliteLimits = {
  maxWaiting: 50_000,
  maxWaitingBytes: 268_435_456,
  maxBatch: 1_024,
  maxQueries: 10_000,
};

/** Tables as a thread receives them. */
export interface Part {
  readonly name: string;
  /** The address of their module. */
  readonly module: string;
}

/** All tables of a store: its own and those that packages bring. */
export function partsOf(tables: readonly Tables<Operations, Operations>[]): readonly Part[] {
  const parts = [leases, ...tables].map(({ name, module }) => ({ name, module: addressOf(new URL(module)) }));
  const twice = parts.find(({ name }, index) => parts.findIndex((other) => other.name === name) < index);
  if (twice) throw new StoreError("invalid", `there are two tables called "${twice.name}"`);
  return parts;
}

/** Where a module is, whether its package runs from source or was built. */
function addressOf(module: URL): string {
  if (module.protocol === "file:" && module.pathname.endsWith(".ts") && !existsSync(module))
    module.pathname = module.pathname.replace(/\.ts$/, ".js");
  return module.href;
}

/** Where the database is and what is in it. */
export interface SqliteOptions {
  readonly path: string;
  /** The parts that packages bring. */
  readonly tables: readonly Tables<Operations, Operations>[];
  readonly limits?: Partial<SqliteLimits>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Wraps the database of the writer; for tests that break it. */
  readonly wrap?: DatabaseWrap;
  /** Opens a database that lacks something of what was written, too, if it can be used at all; by default it is refused. */
  readonly acceptLoss?: boolean;
  /** Called with what a database lacks that was opened all the same. */
  readonly onLoss?: (loss: StoreLoss) => void;
}

/** A store whose threads load their code while the caller does something else. */
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
    // Opening does not wait for the reader; should it fail, every query reports why.
    reader.ask({ kind: "open" }).catch(() => undefined);
    const reading = new SqliteReader(reader, limits.maxQueries);
    return new SqliteStore(writer, reading, limits, options.now ?? Date.now);
  };
  return { open, end };
}

/** What a thread found missing, as it answers. */
export function lossesIn(answer: unknown): readonly StoreLoss[] {
  return Array.isArray(answer) ? answer : [];
}

/** Opens a database for reading, beside whichever process writes to it. The tables must be there already. */
export async function openSqliteReader(
  path: string,
  tables: readonly Tables<Operations, Operations>[],
): Promise<StoreReader> {
  const { maxBatch, maxQueries } = DEFAULT_LIMITS;
  const thread = new ThreadPort({ path, role: "reader", tables: partsOf(tables), maxBatch });
  try {
    await thread.ask({ kind: "open" });
  } catch (error) {
    await thread.end();
    throw error;
  }
  return new SqliteReader(thread, maxQueries);
}
