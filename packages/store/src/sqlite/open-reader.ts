import type { StoreReader } from "../store.ts";
import type { Operations, Tables } from "../tables.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { partsOf } from "./parts.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { ThreadPort } from "./thread-port.ts";

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
